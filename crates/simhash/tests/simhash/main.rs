//! Recipes from the outside: bits of other libraries, promises of the default, tf·idf of a corpus.

mod compatible;
mod default_recipe;
mod idf;
mod shared_data;
