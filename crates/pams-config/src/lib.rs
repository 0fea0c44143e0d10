//! Reads PAMS configuration files into checked, typed settings and reports every mistake with its path.
#![forbid(unsafe_code)]
