//! No panic crosses to C: each function does its work in `Caller::run`, which catches it.

use std::path::Path;
use std::ptr;

use syn::visit::Visit;

use super::c::call;
use crate::edge::Caller;
use crate::status::{HAMDEX_INTERNAL, HAMDEX_OK};

#[test]
fn a_panic_becomes_a_status_and_a_message() {
    for message in ["as text".to_owned(), "as a \0 byte".to_owned()] {
        let failed = call(|error| {
            // SAFETY: the error lives on.
            unsafe { Caller::new(error) }.run(|_| panic!("{message}"))
        });
        let failed = failed.unwrap_err();
        assert_eq!(failed.status, HAMDEX_INTERNAL);
        assert!(failed.message.contains(&message.replace('\0', "?")), "{failed:?}");
    }
    // SAFETY: no error is wanted.
    let status = unsafe { Caller::new(ptr::null_mut()) }.run(|_| std::panic::panic_any(7));
    assert_eq!(status, HAMDEX_INTERNAL);
    // SAFETY: as above.
    assert_eq!(unsafe { Caller::new(ptr::null_mut()) }.run(|_| Ok(())), HAMDEX_OK);
}

/// Exported functions, and of those the ones that do anything beside making a caller and running work.
#[derive(Default)]
struct Exported {
    all: usize,
    loose: Vec<String>,
}

impl Visit<'_> for Exported {
    fn visit_item_fn(&mut self, function: &syn::ItemFn) {
        let is_exported = function.sig.abi.is_some();
        if !is_exported {
            return;
        }
        self.all += 1;
        let name = function.sig.ident.to_string();
        // These read a constant.
        if ["hamdex_abi_version", "hamdex_version"].contains(&name.as_str()) {
            return;
        }
        let is_caller = |statement: &syn::Stmt| match statement {
            syn::Stmt::Local(local) => {
                let value = local.init.as_ref().map(|init| &*init.expr);
                matches!(value, Some(syn::Expr::Unsafe(made)) if made.block.stmts.len() == 1)
            }
            _ => false,
        };
        let is_run = |statement: &syn::Stmt| match statement {
            syn::Stmt::Expr(syn::Expr::MethodCall(call), None) => {
                call.method == "run" && matches!(&*call.receiver, syn::Expr::Path(_))
            }
            _ => false,
        };
        match function.block.stmts.as_slice() {
            [first, second] if is_caller(first) && is_run(second) => {}
            _ => self.loose.push(name),
        }
    }
}

#[test]
fn every_exported_function_catches_panics() {
    let mut exported = Exported::default();
    for entry in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("src")).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            exported.visit_file(&syn::parse_file(&std::fs::read_to_string(path).unwrap()).unwrap());
        }
    }
    assert!(exported.all > 25, "{}", exported.all);
    assert!(exported.loose.is_empty(), "{:?}", exported.loose);
}
