/** Certificates and keys: what the server would warn of. */

import t from 'tap'
import { keyPairProblem } from '../../../lib/go/x509/key-pairs.ts'

const certificate = `-----BEGIN CERTIFICATE-----
MIIBLDCB36ADAgECAhQ4ywPvjwE5T2yZYJsUU8W+QWw4tDAFBgMrZXAwDDEKMAgG
A1UEAwwBYTAeFw0yNjExMjYwMjUyNDRaFw0zNjExMjMwMjUyNDRaMAwxCjAIBgNV
BAMMAWEwKjAFBgMrZXADIQBgYus8mVnIazF+0I1n3OkfpHYf+nqMkfZK6HbORtKY
06NTMFEwHQYDVR0OBBYEFAEYotLchzEqgGXcWj/sKckqwF68MB8GA1UdIwQYMBaA
FAEYotLchzEqgGXcWj/sKckqwF68MA8GA1UdEwEB/wQFMAMBAf8wBQYDK2VwA0EA
SfIZCDCQ3+bPnq6mdDoH89Tgdwhx98xCPuY2FMMFvrnXjp+VBf7cGgGi7LCkqiRe
yjoB9SxdMIStktvxSb7QCA==
-----END CERTIFICATE-----`
const key = `-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIMYlpOr7GTQ9kVeIaA5KPc7KJieCZlWIWN7xt4w4o/w+
-----END PRIVATE KEY-----`
const otherKey = `-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEILTVr0tJhWnHOdiC6dt0DiOy1+kF2O1LeYaOzyROfIic
-----END PRIVATE KEY-----`
const curveKey = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgjSunC2kb95Kwx097
oV5ku7n/TeLjGj1pyLZZ6jdsjXqhRANCAARHRYqB+RnKfrHUxng8UfmOeLResDSs
utFAwoQDrKOADOKzPHB0zWiLK42+o0/d2NlnAgnYySQ12boH00pFmZR8
-----END PRIVATE KEY-----`

t.test('a certificate and a key belong together, or the words of Go say why not', async t => {
  t.equal(keyPairProblem(certificate, key), undefined)
  t.equal(keyPairProblem(`text\n${certificate}\ntext`, `${certificate}\n${key}`), undefined)
  t.equal(keyPairProblem(certificate, otherKey), 'tls: private key does not match public key')
  t.equal(
    keyPairProblem(certificate, curveKey),
    'tls: private key type does not match public key type',
  )
})

t.test('what cannot be read is told of', async t => {
  const block = (type: string, content = 'YWJj'): string =>
    `-----BEGIN ${type}-----\n${content}\n-----END ${type}-----\n`
  const rows: readonly (readonly [certificate: string, key: string, problem: RegExp])[] = [
    ['x', key, /^tls: failed to find any PEM data in certificate input$/],
    [block('CERTIFICATE', 'YWJj='), key, /any PEM data in certificate input/],
    [key, key, /but did find a private key; PEM inputs may have been switched$/],
    [block('A') + block('B'), key, /following types: \[A B\]$/],
    [block('CERTIFICATE'), key, /^x509: malformed certificate$/],
    [certificate, 'x', /^tls: failed to find any PEM data in key input$/],
    [certificate, certificate, /found a certificate rather than a key/],
    [certificate, block('A PRIVATE KEYS'), /key input .* types: \[A PRIVATE KEYS\]$/],
    [certificate, block('ENCRYPTED PRIVATE KEY'), /^tls: failed to parse private key$/],
  ]
  for (const [given, keyText, problem] of rows) {
    t.match(keyPairProblem(given, keyText), problem, String(problem))
  }
})

t.test('what begins without an end is read once, however often it does', async t => {
  const begins = '-----BEGIN A-----\n'.repeat(50_000)
  t.match(keyPairProblem(begins, key), /any PEM data in certificate input$/)
  t.match(keyPairProblem(`${begins}${certificate}`, begins), /any PEM data in key input$/)
})
