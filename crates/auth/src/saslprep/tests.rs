//! SASLprep against what PostgreSQL 15 makes of the same passwords.
