//! TLS: a certificate and its key, which can be replaced while the service runs.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::ArcSwap;
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

use crate::failure::Failure;

/// A certificate and its key.
pub(crate) struct Tls {
    certificate: PathBuf,
    key: PathBuf,
    current: ArcSwap<ServerConfig>,
}

impl Tls {
    /// # Errors
    /// When a file cannot be read, or the key is not that of the certificate.
    pub(crate) fn load(certificate: &Path, key: &Path) -> Result<Self, Failure> {
        let current = ArcSwap::new(read(certificate, key)?);
        Ok(Self { certificate: certificate.to_owned(), key: key.to_owned(), current })
    }

    /// Reads the files again, for [`Tls::replace`].
    ///
    /// # Errors
    /// As for [`Tls::load`].
    pub(crate) fn read_again(&self) -> Result<Arc<ServerConfig>, Failure> {
        read(&self.certificate, &self.key)
    }

    /// Uses another certificate from now on; connections that are open keep what they have.
    pub(crate) fn replace(&self, config: Arc<ServerConfig>) {
        self.current.store(config);
    }

    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(self.current.load_full())
    }
}

fn read(certificate: &Path, key: &Path) -> Result<Arc<ServerConfig>, Failure> {
    let wrong = |path: &Path, error: &dyn std::fmt::Display| {
        Failure::input(path, format!("cannot be used for TLS: {error}"))
    };
    let open = |path: &Path| std::fs::read(path).map_err(Failure::io("read it", path));
    let pem = open(certificate)?;
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(&pem)
        .collect::<Result<_, _>>()
        .map_err(|error| wrong(certificate, &error))?;
    if chain.is_empty() {
        return Err(wrong(certificate, &"it has no certificate as PEM"));
    }
    let own_key = PrivateKeyDer::from_pem_slice(&open(key)?).map_err(|error| wrong(key, &error))?;
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, own_key));
    let mut config = config.map_err(|error| wrong(key, &error))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
