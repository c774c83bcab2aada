"""Every figure and table of the paper, three ways: as printed, what that truly costs, and exact."""
