//! Which sections apply, in merge order. Pure functions, for the front and for `hostler explain`.
