"""The errata in words, each with the functions that compute its evidence.

E1 to E7 were known when the project began; E8 to E20 were found while the paper was reproduced.
Long because it is prose.
"""

from __future__ import annotations

from brdp.paper.errata import composed, grid, possible, single, subsampled
from brdp.paper.errata.erratum import Erratum, Evidence, Frequency


def _nothing_to_measure() -> tuple[Evidence, ...]:
    return ()


def _nothing_to_count() -> tuple[Frequency, ...]:
    return ()


ERRATA: tuple[Erratum, ...] = (
    Erratum(
        label="E1",
        title="The rate of Algorithm 1 does not keep the promised (ε, δ)",
        where="Theorem 1, Proposition 2, Algorithm 1, Proposition 3, Appendices C and D",
        says="The loss of the mechanism is the kernel's loss Z, plus L = -log(1-q) with probability W: "
        "δ_Γ(ε) = (1-W) δ_Z(ε) + W δ_Z(ε-L). Algorithm 1 returns the largest q for which this is at most δ.",
        derivation="Appendix C is right that the loss is Z + L on the event {N within, N' not}, and that W is "
        "that event's probability. But the event is an interval of the noise, so it *decides* Z too. Against a "
        "neighbour at +Δ it is [-θ, min(Δ-θ, θ)], the left end of the bounds, which is where Z is largest among "
        "the acceptable values. Theorem 1 mixes the laws as if the event were independent of Z. Three more "
        "steps are missing: (i) W is taken under the kernel f_N, while the answer is drawn from f_brdp, whose "
        "mass inside the bounds is larger by 1/Z, Z = 1 - p̄q; (ii) the fourth case, {N not within, N' within}, "
        "where recycling *lowers* the loss by L, is left out; it holds mass that Theorem 1 counts at Z; (iii) when "
        "(1-W) δ_Z(ε) + W ≤ δ no q < 1 violates the printed inequality, and the search runs up to 1 - tol.",
        replacement="The curve in closed form: cut the line at the bounds and at the bounds shifted by Δ; on each "
        "piece both weights are constant and {loss > ε} is one interval (theory/curve.md). The rate is then "
        "found by scanning, because δ is monotone neither in q nor in the scale, and certified: "
        "`brdp.Recycled(...).privacy(...)` and `brdp.plan(...)`.",
        evidence=single.wrong_rates,
        frequency=lambda: (*grid.algorithm_1_frequency(), *grid.algorithm_1_wasted()),
    ),
    Erratum(
        label="E2",
        title="The objective is printed with q and 1-q exchanged",
        where="eq. (eq:budget), the display before it, eq. (eq:budget2), Algorithms 2 and 4",
        says="1/acceptance = 1 - q + q/p.",
        derivation="From eq. (eq:post), 1 - p̄q = 1 - q + pq = (1-q) + pq. The display writes p(1-q) + q instead. "
        "So 1/acceptance = ((1-q) + pq)/p = q + (1-q)/p. The proof of Proposition 4 uses the right one: at q = 0 "
        "it has 1/p, where the printed formula gives 1. The printed objective grows with q and is least at "
        "q = 0: minimised literally it removes the recycler.",
        replacement="q + (1-q)/p, used for every curve called 'paper' here. With it the paper's own sentence "
        "(acceptance over 0.9 needs ε > 4.5 at θ = Δ = 1) comes out at δ = 1e-6, so the paper's program seems to "
        "have had the right formula.",
        evidence=single.wrong_objective,
        frequency=grid.objective_frequency,
    ),
    Erratum(
        label="E3",
        title="A rescaled sample has sensitivity Δ/p, not Δ",
        where="Section VII, Theorem 4 as used in Algorithm 4, Figures 6 to 8, Table 1",
        says="The mechanism that sees the sample gets the amplified budget (log(1 + (exp(ε)-1)/p), δ/p) and noise "
        "for sensitivity Δ_f; its answer is (1/p) Σ x_i over the sample.",
        derivation="One person in the sample moves (1/p) Σ x_i by Δ/p, and the mean of a sample of pn by c/(pn). "
        "Amplification gains at most a factor 1/p in ε, and less than that once ε is not small, because "
        "log(1 + (exp(ε)-1)/p) < ε/p. So noise for one rescaled release *grows* as p falls. Theorem 4 is also used "
        "for both samplings at once, which the paper calls a slight difference: adding or removing a person goes "
        "with Poisson samples, replacing one with samples of a fixed size, where Δ is another number.",
        replacement="Noise for Δ/p inside, amplified: `brdp.subsample(noise, sensitivity=Δ/p, sampling_rate=p)`. "
        "For the accuracy of one release p = 1 is then best; sampling buys speed.",
        evidence=lambda: (*subsampled.growing_scale(), *subsampled.sampled_cost()),
        frequency=subsampled.sampling_frequency,
    ),
    Erratum(
        label="E4",
        title="The 'tight' composition is not an upper bound, and the algorithm drops a term",
        where="Proposition 5, Theorem 3, Algorithm 3, the appendix headed 'Proof of Theorem 4'",
        says="The loss of T releases is that of T kernels plus a binomial number of L's, and "
        "δ(ε) = Σ_k C(T,k) (1-W)^k W^(T-k) δ_Z^T(ε - (T-k)L) is tight.",
        derivation="It convolves f_Z with f_R, which needs Z and the added loss to be independent (E1). Under "
        "composition the dependence adds up: each release that gains L also has a large Z, and W is too small by "
        "the factor 1/Z. Algorithm 3 runs k from 1 to T, so the term k = 0, where every release pays L, is lost; "
        "at small T that term is nearly everything. Its inputs also lack θ.",
        replacement="The T-fold convolution of the exact loss, with bounds on both sides: `brdp.compose`. "
        "(g, g shifted by Δ) is a dominating pair because the released density is unimodal.",
        evidence=lambda: (*composed.theorem_3_fails(), *composed.lost_term()),
        frequency=composed.theorem_3_frequency,
    ),
    Erratum(
        label="E5",
        title="Theorem 2 is false for δ > 0",
        where="Theorem 2, Remark 1 and the sentence after it, Appendix E",
        says="A kernel that is (ε_y, δ)-DP under a recycler of rate q is (ε_y - log(1-q), δ)-DP; the true leakage is "
        "less.",
        derivation="The proof reads (ε_y, δ)-DP as Pr(Z ≥ ε_y) ≤ δ. That is stronger than (ε, δ)-DP and does not "
        "follow from it. The next line turns the inequality round (Pr(... ≤ ...) ≤ δ). And the probability is "
        "again the kernel's: released values within the bounds are more likely by 1/Z, so a part of δ that lies "
        "within the bounds is magnified.",
        replacement="(ε_y + L, δ/Z) always. (ε_y + L, δ) holds when δ = 0, and when the bounds are symmetric and the "
        "kernel's loss exceeds ε_y only at x ≤ 0 (Gaussian: σ² ≥ Δ²/(2 ε_y)). On the main grid it indeed holds; "
        "the counterexamples need narrow or lopsided bounds.",
        evidence=single.false_theorem_2,
        frequency=grid.theorem_2_frequency,
    ),
    Erratum(
        label="E6",
        title="Table 1 does not follow from its settings",
        where="Table 1 and Section VIII-C",
        says="After 1,000 releases at ε = 0.1: Lap-DP 18.98 and 25.38, Gau-DP 4.77 and 7.17, and smaller numbers for "
        "the recycled ones.",
        derivation="T Gaussian releases are one Gaussian release at Δ√T, so this column is exact in closed form. "
        "4.77 is what a kernel calibrated at (exp(0.1) - 1, 1e-5) gives, but 7.17 is not. The Laplace cells lie "
        "between Renyi accounting with the classic and the improved conversion, and above the exact values. The "
        "sampled columns are amplified *after* composing, which is valid only when one sample serves all 1,000 "
        "queries. The recycled cells use Theorem 3 (E4).",
        replacement="The table of the report: every cell beside the exact one, and the reason for each difference.",
        evidence=composed.table_1_plain,
        frequency=_nothing_to_count,
    ),
    Erratum(
        label="E7",
        title="At equal promises recycling does not reduce leakage after composition",
        where="Abstract, Sections I, III-A, III-B, VI-B, VIII-C, X: 'reduced leakage', 'tightened composition'",
        says="At the same single-release budget, recycled releases leak less in total than plain ones; larger "
        "variance explains it.",
        derivation="At one and the same (ε, δ) the recycled release uses up its whole curve: it has more mass at "
        "losses just under ε than a Gaussian whose curve meets (ε, δ) only in its far tail. Composition adds "
        "losses, so mass at moderate losses counts. The paper's own formulas show the advantage only in part: at "
        "Figure 5's ε = θ = Δ = 1 Theorem 3 puts the recycled total *above* the plain one from T = 10 on, and at Table "
        "1's budget (with θ = Δ = 1) 4.785 against 4.522, where the table has 4.72 against 4.77. For bounds much "
        "narrower than Δ it does state less, but it is no bound (E4), and the truth may be the reverse. Where the true "
        "total of Algorithm 1's mechanism was the smaller one here, it had left δ unspent, which is not an equal "
        "promise.",
        replacement="Compare at equal *total* cost: `brdp.plan(..., count=T)` minimises the composed cost. Recycling "
        "pays for one release, or few; for Laplace kernels it leaks slightly less, without gaining acceptance at "
        "θ = Δ.",
        evidence=lambda: (
            *composed.more_leakage(),
            *composed.more_leakage_by_theorem_3(),
            *single.laplace_without_gain(),
            *composed.gain_in_company(),
        ),
        frequency=composed.more_leakage_frequency,
    ),
    Erratum(
        label="E8",
        title="What Algorithm 2 searches for is a mechanism without privacy",
        where="Algorithm 2, and Section V-A: 'a single peak'",
        says="The objective has one peak over ε_y in (0, ε), where kernel and recycler balance; a ternary search "
        "finds it.",
        derivation="As ε_y falls the kernel widens and W falls with it: for a Laplace kernel W ≤ 1 - exp(-ε_y/2). "
        "As soon as W ≤ δ (and δ_Z(ε) = 0) the condition (1-W) δ_Z(ε) + W δ_Z(ε-L) ≤ δ holds for *every* q < 1. "
        "Algorithm 1 then returns q = 1 - tol, and the acceptance is within tol/p of 1: as tol falls no other split "
        "can compete. So with a Laplace kernel the objective's best is such a split for every budget with δ > 0 "
        "(every ε_y ≤ -2 log(1-δ) is one, and larger ones are where the bounds are narrow). Where its kernel is wide "
        "it is a nearly uniform noise on [-θ, θ] whose exact δ is about min(1, Δ/(2θ)). The "
        "objective has at least two peaks; that the ternary search usually, not always, "
        "climbs the lesser one would explain the paper's figures.",
        replacement="With the exact curve the objective has no such hill: a rate near 1 is charged what it costs.",
        evidence=single.no_privacy,
        frequency=grid.no_privacy_frequency,
    ),
    Erratum(
        label="E9",
        title="For bounds that are not symmetric, W measures the wrong interval",
        where="eq. (eq:W), and W in Appendix C",
        says="W is the larger of Φ(min(τ_l + Δ, τ_u)) - Φ(τ_l) and Φ(τ_u + Δ) - Φ(max(τ_u, τ_l + Δ)).",
        derivation="By its definition W = Pr(N within, N' not). Against a neighbour at +Δ that is the first term. "
        "Against one at -Δ it is Φ(τ_u) - Φ(max(τ_u - Δ, τ_l)), an interval *inside* the upper bound. What is "
        "printed as the second term lies *outside* it, where the loss is lowered. For symmetric bounds the first "
        "term is the larger one and nothing is lost; for others W can be fifteen times too small. Appendix C's "
        "version also lacks the min and max, so that for Δ > 2θ it counts noise outside the bounds.",
        replacement="The exact curve, larger direction. (With W by its definition, E1 remains.)",
        evidence=single.wrong_region,
        frequency=grid.lopsided_frequency,
    ),
    Erratum(
        label="E10",
        title="Theorem 1's law is not the loss of any pair of distributions",
        where="Theorem 1",
        says="f_Γ = (1-W) f_Z(γ) + W f_Z(γ - L).",
        derivation="For the loss Γ = log(P/Q) of two laws with the same support, E_P[exp(-Γ)] = Q(everything) = 1. "
        "The kernel has E[exp(-Z)] = 1. Under Theorem 1, E[exp(-Γ)] = (1-W) + W exp(-L) = 1 - Wq < 1 whenever "
        "recycling does anything. A part Wq of the neighbour's law is missing: it is the fourth case of E1. So the "
        "theorem cannot be repaired by another W.",
        replacement="The law of the true loss, which satisfies the identity; a test of this project checks it.",
        evidence=single.impossible_loss,
        frequency=_nothing_to_count,
    ),
    Erratum(
        label="E11",
        title="The advanced composition drops the deltas of its parts",
        where="Remark 4",
        says="T releases at (ε, δ) are (Tε(exp(ε)-1) + √T ε √(2 ln(1/δ)), δ)-DP.",
        derivation="Advanced composition adds the parts' own failures: its δ is Tδ + δ', with δ' under the root. "
        "Remark 4 sets δ' = δ and leaves out Tδ.",
        replacement="(the same ε with δ' under the root, Tδ + δ'), or better `brdp.compose`.",
        evidence=composed.remark_4_fails,
        frequency=composed.remark_4_frequency,
    ),
    Erratum(
        label="E12",
        title="A series in Appendix A is not the one that is summed",
        where="Appendix A, second display",
        says="An unacceptable value is released with density f_N (1-q) + f_N p̄ (1-q) + f_N p̄² (1-q)² + ..., "
        "which is then written as f_N (1-q) Σ p̄^k q^k.",
        derivation="A value released in round k+1 was preceded by k rounds that were unacceptable *and* recycled: "
        "each has probability p̄q. The powers of (1-q) in the first two lines are slips. The third line is "
        "right, and so is Proposition 1.",
        replacement="f_N (1-q) Σ (p̄q)^k = f_N (1-q)/(1 - p̄q).",
        evidence=single.wrong_series,
        frequency=_nothing_to_count,
    ),
    Erratum(
        label="E13",
        title="The variances of the sampling error: two slips, and a range",
        where="Proposition 6 (which the paper's references call 7) and Appendix G",
        says="The errors are Gaussian with standard deviations σ_x √(N(1-p)/p), σ_x √((1-p)/(pN)) and "
        "√(N(1-p) p_c (1-p_c)/p).",
        derivation="The results are right for samples of a fixed size; their derivation is not. For the sum the "
        "second variance should be (1-1/p)² pN Var = (1-p)² N/p Var: N is missing. For the average the last divisor "
        "should be |X|², not |X_s|². Under Poisson sampling, which Theorem 4's add-or-remove form needs, the sum's "
        "error has variance N (σ_x² + μ²)(1-p)/p: the mean counts, because the sample's size varies; for counts p_c "
        "(1-p_c) becomes p_c. The errors are exactly Gaussian only for the Gaussian data that Section VII assumes; "
        "for counts Appendix G's closing note makes it an approximation, which Proposition 6 does not say.",
        replacement="The corrected lines, and the Poisson form where samples are Poisson.",
        evidence=subsampled.wrong_variances,
        frequency=_nothing_to_count,
    ),
    Erratum(
        label="E14",
        title="The acceptance under sampling is not that of a wider Gaussian",
        where="Proposition 7 (the one with eq:budget2) and its proof",
        says="f_tot = f_E * f_brdp = f_E * f_N * f_R, so σ² = σ_y² + σ_E² may be put into the acceptance formula.",
        derivation="f_R is the law of a privacy *loss*; the noise density f_brdp is f_N times a weight, not a "
        "convolution with f_R. And the formula assumes that the recycler judges E + N. It sees N alone: E is the "
        "difference between sample and population, which nobody knows.",
        replacement="P(|E+N| ≤ θ) = [(1-q) P(|E+K| ≤ θ) + q P(|E+K| ≤ θ, |K| ≤ θ)]/Z for a kernel K: a convolution, "
        "one integral.",
        evidence=subsampled.added_variances,
        frequency=subsampled.added_variances_frequency,
    ),
    Erratum(
        label="E15",
        title="The split δ_y = δ and Algorithm 1's caution give acceptance away",
        where="Section V-A, Algorithm 2, Figures 3 and 4",
        says="The same δ serves the kernel and the whole; the kernel is never narrower than (ε, δ) alone allows.",
        derivation="Recycling thins the tails that hold a Gaussian kernel back, so a kernel too narrow to be "
        "released alone may be private under its recycler, for rates in an interval without 0. Algorithm 2's range "
        "ε_y ≤ ε excludes it. And where Algorithm 1 is safe it often spends a millionth of δ (E1).",
        replacement="`brdp.plan`: kernel scale and rate searched together on the exact curve.",
        evidence=single.lost_acceptance,
        frequency=_nothing_to_count,
    ),
    Erratum(
        label="E16",
        title="Algorithm 4's best sample is a handful of people",
        where="Algorithm 4, Section VII-C, Figure 6",
        says="A ternary search over p in (0, 1) balances the loss of information against the noise.",
        derivation="As p falls the budget before amplification grows without bound, and with it q goes to 1. "
        "Proposition 7 lets the recycler reject sampling error as well (E14), so the objective goes to 1 although "
        "the answer is then an extrapolation from a few people. Algorithm 4 has the two hills of Algorithm 2 (E8), "
        "and where it ends depends on where its first two points happen to fall.",
        replacement="With sensitivity Δ/p and the convolution, p = 1 is best for accuracy (E3). For Figures 7 and 8 "
        "the search starts at p = 0.1.",
        evidence=subsampled.tiny_samples,
        frequency=subsampled.tiny_samples_frequency,
    ),
    Erratum(
        label="E17",
        title="A larger variance is not the price of recycling",
        where="Section III-B, Section IX (second limitation: 'the sole sacrifice')",
        says="Recycling puts more answers within the bounds at the expense of a larger variance, which strengthens "
        "privacy and lowers the composed leakage.",
        derivation="A recycler keeps every value within the bounds and thins the rest, so it never adds to the "
        "spread of the kernel it is given: g = w f/Z with w falling in |x|. The variance in the paper's figures is "
        "larger because the kernel is wider, calibrated at ε_y < ε, and because Algorithm 1 recycles too little for "
        "it. With kernel and rate planned together on the exact curve the recycled noise has, in most settings, both "
        "more mass within the bounds and a smaller standard deviation than the plain kernel at the same promise. "
        "What is paid is the rest of the curve (E7), not variance.",
        replacement="Judge a plan by acceptance and by cost in company; `noise.std` gives the spread.",
        evidence=single.smaller_spread,
        frequency=single.smaller_spread_frequency,
    ),
    Erratum(
        label="E18",
        title="The sampling rate depends on the data, and nothing pays for that",
        where="Algorithm 4's inputs, Section VIII-B: 'we first simulate with estimated σ_x'",
        says="The sampling rate, and with it the kernel and q, come from Algorithm 4 with σ_x (for counts p_c) "
        "estimated and |X| known; the remark after Algorithm 1 says that q is data independent.",
        derivation="The text does not say what σ_x and p_c are estimated from, and charges nothing for it. If it "
        "is the data, p is a function of the data, and so are ε_y, σ and q: two neighbouring data sets lead to two "
        "different noises, and one parameter that an analyst learns (a sampling rate in a report, the spread of many "
        "answers) tells them apart, for any ε. Under adding or removing, |X|, which Algorithm 4 takes, is private as "
        "well.",
        replacement="Choose p from public knowledge, or pay for σ_x, p_c and |X| as for any other answer.",
        evidence=subsampled.private_rate,
        frequency=_nothing_to_count,
    ),
    Erratum(
        label="E19",
        title="Acceptances that no noise can have, and a kernel that has nothing to gain",
        where="Section III-A ('enhance any DP mechanism'), Section VIII-B ('always outperforms'), Algorithms 1 and "
        "2, Figures 7 and 8",
        says="Recycling improves every kernel; at the same budget the recycled Laplace kernel accepts more than the "
        "plain one.",
        derivation="A bound that needs no account of this mechanism: let k = ⌈θ/Δ⌉, a = exp(-kε) and "
        "d = δ (exp(kε)-1)/(exp(ε)-1), the group bound for k steps. The definition of (ε, δ)-DP, for {N > 0} shifted "
        "by kΔ, gives Pr(N > kΔ) ≥ a (Pr(N > 0) - d), and the other side likewise. So for *every* additive noise with "
        "a density Pr(|N| ≤ θ) ≤ (1-a)(1 + 2δ/(exp(ε)-1)) (integer noise on integer counts can do better). Where "
        "Algorithms 1 and 2 claim more, the promise is broken whatever the account. Where θ is a multiple of Δ the "
        "plain Laplace kernel has 1-a already: the paper's counts (θ = 3Δ, at (.1, 1e-5)) leave a recycler one part in "
        "5,000. At δ = 0, where Theorem 2 is exact for this kernel, more can be said: acceptance rises with "
        "(exp(tθ/Δ)-1) exp(ε-t), t = ε_y, which is largest at t = ε, without a recycler, unless θ < Δ and ε > -(Δ/θ) "
        "log(1-θ/Δ). No budget that a caption states is such a case: the sum with Δ = 22, θ = 5 has ε = .5 and would "
        "need 1.13. What the recycled Laplace gains there is the broken promise of E1.",
        replacement="`brdp.plan` compares kernels. For one release and θ < Δ its staircase, a Laplace kernel under "
        "another recycler, is the best there is at δ = 0. Recycling gains most with a Gaussian kernel.",
        evidence=possible.impossible_acceptance,
        frequency=possible.impossible_frequency,
    ),
    Erratum(
        label="E20",
        title="Smaller slips",
        where="various",
        says="See the list.",
        derivation="Small ones, and things left unsaid.",
        points=(
            "(a) Theorem 4 has no proof: the appendix headed 'Proof of Theorem 4' proves Theorem 3, and Section "
            "VII-A omits the proof. Its text says a small ε is amplified to a *larger* ε'; in the theorem ε' is the "
            "smaller.",
            "(b) 'Proposition 7' in Algorithm 4 and Appendix G is the sixth proposition.",
            "(c) The caption of Figure 5 says Algorithms 3 and 2 where the text has 2 and 1.",
            "(d) Algorithm 1 compares with δ_target, which is no input (δ is meant); Algorithm 3 uses θ without "
            "taking it, and so does Algorithm 4, which lacks p_c and the kind of query too.",
            "(e) Algorithm 4's line 7 calibrates to (ε', δ) and the primes are never used.",
            "(f) Remark 2 (disjoint subsets) needs neighbours by adding or removing: a replaced person may move "
            "between subsets, and two pay.",
            "(g) Remark 5's linear time assumes δ_Z^T costs the same for every T.",
            "(h) f_R is written with a Dirac function defined to be 1 at 0.",
            "(i) Figure 5's caption and Section VIII-C credit analytic Fourier accounting to the analytic Gaussian "
            "mechanism's authors; Sections II-A and VI-B name the right work.",
            "(j) The sensitivities 22, 12, 0.0017 and 0.0012 are the same for Adult and Gowalla, and the text "
            "derives them from neither; with the average's Δ = 0.0017 and θ = 1 every mechanism is within the bounds "
            "at the stated ε.",
            "(k) The size of a subset is left open. 10,000 chosen people in ten subsets make 1,000 each, and 45,222 "
            "records could not make ten of 10,000; yet 0.0012 is 12/10,000.",
            "(l) Nothing says that whether an answer was within the bounds must stay secret; released with it, the "
            "answer pins the truth to an interval.",
            "(m) Algorithm 2 calls Algorithm 1 with (ε, δ, ε_y, δ), which takes (ε_y, δ_y, ε, δ).",
            "(n) Section III-A speaks of an *estimated* sensitivity; it must be a bound, and nothing says that "
            "values are clipped to make it one (Adult's capital gains reach 100 thousand, Δ is 22 at most; the "
            "Gaussian data that Section VII assumes have no bound at all).",
            "(o) Figure 6 gives no Δ and lets |X| vary: an average's is the clip bound over |X|, and needs a public "
            "|X|. In Appendix G the sampled average divides by |X_s| twice.",
            "(p) Proposition 4's proof says that ε_y = ε is among the points searched; the ternary search never "
            "returns its ends, though it comes close.",
            "(q) The closed form of Proposition 5 has z where γ is meant, and the appendix ε.",
            "(r) Section VII-C finds that the acceptance rate benefits from a large data set. For sums and counts "
            "at a given θ Proposition 6's error grows with |X|, and Algorithm 4's acceptance falls to that of p = 1.",
            "(s) Proposition 2 and Appendix D write δ_Γ(ε) ≥ ...: as a condition on a promised δ that is what "
            "Algorithm 1 needs, as a statement about the profile it bounds it from below.",
            "(t) Section III-B says that most of Figure 2's recycled answers are within ±θ. At Δ = 1 its own "
            "formulas put 0.466 there; the exact plan 0.766.",
            "(u) Section III-A calls it infeasible to meet (ε, δ) with bounded noise when δ is small. The truncated "
            "Laplace law of the work it cites meets every (ε, δ) on ±(Δ/ε) log(1 + (exp(ε)-1)/(2δ)): it is this "
            "mechanism with q = 1. What cannot be had is a bound of one's own choice.",
            "(v) Section IX expects most from queries with small answers: neither the noise nor the acceptance within "
            "a given θ depends on the answer.",
            "(w) In Table 1 the sampled mechanisms leak 2.6 to 2.8 times as much as the plain ones, which the text "
            "passes over.",
            "(x) Section VII-C has Y_n = Y + E + N; with E as defined it is Y - E + N (harmless: N is symmetric).",
            "(y) Proposition 7 calls O the acceptance rate; it is its reciprocal, as in eq. (eq:budget).",
            "(z) Section VIII-B finds the Laplace kernel better in general, for its shape. With Algorithm 1's rates "
            "it is; once both rates are exact the Gaussian kernel can be ahead where the bounds are narrower than Δ.",
            "(aa) Errors are written as norms, as if answers were vectors; p_θ, W and the worst case at +Δ are for "
            "a single number.",
            "(bb) Table 1's run times have no unit (seconds are taken here). Its sampled columns took 64 to 67 times "
            "as long as the recycled ones; Algorithm 3 does the same work for both, so other work must be in them.",
            "(cc) Algorithm 1 returns q = 0 also where its condition holds for no q, as for a kernel that costs more "
            "than (ε, δ) by itself. Proposition 3 does not leave such kernels out; Algorithm 2 does not meet them.",
        ),
        replacement="As said with each.",
        evidence=possible.small_claims,
        frequency=_nothing_to_count,
    ),
)

SURVIVES: tuple[str, ...] = (
    "**The mechanism.** Proposition 1 is right: the released density is w f/Z, and its normalisation holds. q "
    "and Z do not depend on the data, nor does the number of rounds.",
    "**The worst shift.** The paper takes the full sensitivity as the worst case without proof. For symmetric "
    "bounds and the kernels it uses this is right, because the released density is unimodal with its mode at 0 "
    "(theory/curve.md).",
    "**The acceptance gains** with a Gaussian kernel, which are greater than claimed once q is exact, wherever "
    "Algorithm 1 keeps its promise: see E15 and Figure 4. They need no larger variance (E17). Proposition 4 "
    "(recycling never accepts less than its kernel alone) is true of the best split, and of every split the ternary "
    "search returned on the grid of E8.",
    "**Basic composition** (Remark 3), and Remark 2 for neighbours by adding or removing.",
    "**Theorem 2 for δ = 0**, and for symmetric bounds with σ² ≥ Δ²/(2 ε_y).",
    "**Theorem 4's formula**, for Poisson samples under adding or removing, or fixed sizes under replacing, with "
    "the sensitivity of what is really released.",
    "**Where recycling pays.** With a Gaussian kernel wherever it was tried here; with a Laplace kernel and δ = 0 "
    "exactly where θ < Δ and ε > -(Δ/θ) log(1-θ/Δ) (E19): bounds narrower than one person's weight.",
    "**In company.** Recycling is worth its price for one release or a few, where acceptance matters and the rest "
    "of the curve would be left unspent. For many releases it must be planned for their total: a Gaussian kernel "
    "then still gains acceptance, the less the more releases there are (the last rows of E7), and a Laplace kernel "
    "hardly gains. What Algorithms 1 and 2 build does often leak a little less in total than the plain kernel, for "
    "the δ that it leaves unspent (the counts of E7).",
)
