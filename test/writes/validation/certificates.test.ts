import { readFileSync } from 'node:fs'
import t from 'tap'
import type { JsonObject } from '../../../lib/go/json/tree.ts'
import { parseTree } from '../../../lib/go/json/tree.ts'
import { validateBuiltIn } from '../../../lib/writes/validation/validate.ts'

const kind = {
  kind: 'CertificateSigningRequest',
  group: 'certificates.k8s.io',
  isNamespaced: false,
}

function tree(value: object): JsonObject {
  const bytes = Buffer.from(JSON.stringify(value))
  return parseTree(bytes, 0, bytes.length) as JsonObject
}

const pem = (type: string): string =>
  Buffer.from(`-----BEGIN ${type}-----\nAAAA\n-----END ${type}-----\n`).toString('base64')

const signedRequest = Buffer.from(`-----BEGIN CERTIFICATE REQUEST-----
MIGLMD8CAQAwDDEKMAgGA1UEAwwBYTAqMAUGAytlcAMhADg3pLMcx2LPWGrWijWM
MC2wXEVO8ri1b4xoNG0LK0p4oAAwBQYDK2VwA0EAz6EMQ5suBwhhGQ2FWrEUWzhD
TsRc3oGP7PVYpKS+wzSJ8hBw6r5vWGqAbfRXx4516+tH+cbVG+C5icrE5IZXDg==
-----END CERTIFICATE REQUEST-----
`).toString('base64')

function request(spec: object, status: object = {}): JsonObject {
  return tree({
    metadata: {
      name: 'a',
      uid: 'u',
      creationTimestamp: '2026-01-01T00:00:00Z',
      resourceVersion: '1',
    },
    spec: {
      request: signedRequest,
      usages: ['client auth'],
      signerName: 'example.com/signer',
      ...spec,
    },
    status,
  })
}

const problems = (spec: object, status?: object): string[] =>
  validateBuiltIn(kind, request(spec, status), undefined, '').map(
    ({ field, message }) => `${field}: ${message}`,
  )

t.test('requests for certificates are checked', async t => {
  t.strictSame(problems({}), [])
  t.strictSame(problems({ usages: ['client auth', 'nothing', 'client auth'] }).length, 2)
  t.match(problems({ usages: ['s'] })[0], /^spec.usages\[0\]: Unsupported value: "s": supported /)
  t.match(problems({ signerName: 'signer' })[0], /must be a fully qualified domain and path/)
  t.match(problems({ signerName: 'example/s' })[0], /a domain with at least two segments/)
  t.match(problems({ signerName: 'Example.com/s' })[0], /validating label "Example": a lowercase/)
  t.match(problems({ signerName: 'example.com/_' })[0], /validating label "_": a lowercase RFC/)
  t.match(problems({ signerName: 'kubernetes.io/legacy-unknown' })[0], /legacy signerName is not/)
  t.match(problems({}, { certificate: pem('KEY') })[0], /only CERTIFICATE PEM blocks .* "KEY"/)
  const both = ['Approved', 'Denied'].map(type => ({ type, status: 'True' }))
  t.match(problems({}, { conditions: both })[0], /Approved and Denied conditions are mutually/)
  const failed = { type: 'Failed', status: 'True' }
  t.match(
    problems({}, { conditions: [failed, failed] })[0],
    /conditions\[1\].type: Duplicate value/,
  )
  t.match(problems({}, { conditions: [{ type: '', status: 'x' }] }), [
    /conditions\[0\].type: Required value/,
    /conditions\[0\].status: Unsupported value: "x": supported values: "False", "True", "Unknown"/,
  ])
})

t.test('only who approves and who signs change a request for a certificate', async t => {
  const changed = (subresource: string, status: object, before: object = {}): string[] =>
    validateBuiltIn(kind, request({}, status), request({}, before), subresource).map(
      ({ message }) => message,
    )
  const approved = { conditions: [{ type: 'Approved', status: 'True' }] }
  const signed = { certificate: readFileSync('test/support/certs/client.pem', 'base64') }
  t.strictSame(changed('approval', approved), [])
  t.strictSame(changed('status', signed), [])
  t.match(changed('status', approved)[0], /updates may not add a condition of type "Approved"/)
  t.match(changed('approval', signed)[0], /updates may not set certificate content/)
  t.match(changed('', {}, approved)[0], /updates may not remove a condition of type "Approved"/)
  const other = { conditions: [{ type: 'Approved', status: 'True', reason: 'r' }] }
  t.match(changed('', other, approved)[0], /updates may not modify a condition of type "Approved"/)
})

t.test('certificates that nobody can read are refused', async t => {
  const real = Buffer.from(
    readFileSync('test/support/certs/client.pem', 'utf8').replaceAll(/-----.*-----|\s/g, ''),
    'base64',
  )
  const problem = (bytes: Buffer, headers = ''): string | undefined => {
    const block = `-----BEGIN CERTIFICATE-----\n${headers}${bytes.toString('base64')}\n-----END CERTIFICATE-----\n`
    return problems({}, { certificate: Buffer.from(block).toString('base64') })[0]
  }
  t.equal(problem(real), undefined)
  t.equal(problem(Buffer.concat([real, real])), undefined)
  const prefix = 'status.certificate: Invalid value: "<certificate data>": '
  t.equal(problem(real, 'A: b\n\n'), `${prefix}no PEM block headers are permitted`)
  const empty = 'found CERTIFICATE PEM block containing 0 certificates'
  t.equal(problem(Buffer.alloc(0)), `${prefix}${empty}`)
  // Each prefix, and each byte that says what a part is, changed.
  for (let length = 1; length < real.length; length++) {
    t.match(problem(real.subarray(0, length)), /x509: malformed certificate$/, `${length} bytes`)
  }
  t.match(problem(Buffer.concat([real, Buffer.from([0])])), /x509: malformed certificate$/)
  for (const [at, words] of [
    [0, 'malformed certificate'],
    [4, 'malformed tbs certificate'],
    [8, 'malformed serial number'],
    [10, 'malformed version'],
    [13, 'malformed serial number'],
    [35, 'malformed signature algorithm identifier'],
    [37, "inner and outer signature algorithm identifiers don't match"],
    [47, 'malformed issuer'],
    [78, 'malformed validity'],
    [80, 'malformed validity'],
    // The subject: Go has the same words for it.
    [112, 'malformed issuer'],
    [144, 'malformed spki'],
    [146, 'malformed public key algorithm identifier'],
    [167, 'malformed subjectPublicKey'],
  ] as const) {
    const changed = Buffer.from(real)
    changed[at] = 0x05
    t.equal(problem(changed), `${prefix}x509: ${words}`, `byte ${at}`)
  }
  // [0] { INTEGER }: the version of the certificate is 2, which says 3.
  const later = Buffer.from(real)
  later[12] = 3
  t.equal(problem(later), `${prefix}x509: invalid version`)
})
