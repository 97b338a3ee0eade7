"""Every family of tensor programs in spellings written by hand; `corpus` reads them."""
