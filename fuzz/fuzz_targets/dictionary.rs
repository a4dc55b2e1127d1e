#![no_main]
hamdex_fuzz::fuzz!(dictionary);
