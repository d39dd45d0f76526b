import { createPrivateKey } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import t from 'tap'
import { pairProblem } from '../../lib/base/pem.ts'

const certs = 'test/support/certs'

/** The problem of two files that TLS refuses. */
function problemOf(certFile: string, keyText: string): string {
  const cert = { name: 'cert', text: readFileSync(certFile, 'latin1') }
  const key = { name: 'key', text: keyText }
  try {
    createSecureContext({ cert: Buffer.from(cert.text), key: Buffer.from(key.text) })
    return ''
  } catch (failure) {
    return pairProblem(cert, key, failure)
  }
}

t.test('files that make no pair are told apart', async t => {
  const key = readFileSync(`${certs}/server.key`, 'latin1')
  const cert = `${certs}/server.pem`
  t.equal(problemOf(cert, key), '')
  t.equal(problemOf('LICENSE', key), 'cert has no certificate (PEM)')
  t.equal(problemOf(cert, ''), 'key has no key (PEM)')
  t.equal(problemOf(cert, readFileSync(cert, 'latin1')), 'key has no key (PEM)')
  t.equal(problemOf(`${certs}/client.pem`, key), 'key is not the key of cert')
  t.match(problemOf(cert, key.slice(0, 100)), /^cert and key are not a certificate.*and its key: /)
  const locked = { type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' } as const
  const text = createPrivateKey(key).export(locked).toString()
  t.match(problemOf(cert, text), /^key has a key with a passphrase/)
})
