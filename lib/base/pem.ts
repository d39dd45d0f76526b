/** The problems of a certificate and its key (PEM), in words: what OpenSSL says of a wrong file is
 *  `DECODER routines::unsupported`. */

/** A file's text, and what messages call the file. */
export interface NamedPem {
  readonly name: string
  readonly text: string
}

const certificate = /-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----/
const privateKey = /-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----/
const encrypted = /-----BEGIN ENCRYPTED PRIVATE KEY-----|^Proc-Type: 4,ENCRYPTED/m

/** Why two files do not make a pair, after TLS has refused them with `failure`. */
export function pairProblem(cert: NamedPem, key: NamedPem, failure: unknown): string {
  if (!certificate.test(cert.text)) return `${cert.name} has no certificate (PEM)`
  if (!privateKey.test(key.text)) return `${key.name} has no key (PEM)`
  if (encrypted.test(key.text)) {
    return `${key.name} has a key with a passphrase: give a file with the key alone`
  }
  const { code, message } = failure as Error & { code?: string }
  if (code === 'ERR_OSSL_X509_KEY_VALUES_MISMATCH') {
    return `${key.name} is not the key of ${cert.name}`
  }
  return `${cert.name} and ${key.name} are not a certificate (PEM) and its key: ${message}`
}
