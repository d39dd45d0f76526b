import { readFileSync } from 'node:fs'
import t from 'tap'
import { parseRequest, requestProblem } from '../../../lib/go/x509/certificate-request.ts'

interface Row {
  /** In base64. */
  readonly der: string
  /** The complaint of ParseCertificateRequest or CheckSignature of Go 1.26. */
  readonly problem?: string
  /** With spaces between them, where it could be read. */
  readonly organizations?: string
}

const rows = JSON.parse(readFileSync('test/go/x509/certificate-requests.json', 'utf8')) as Row[]

/** In PEM, in base64 as objects have it. */
function asked(der: string): string {
  const pem = `-----BEGIN CERTIFICATE REQUEST-----\n${der}\n-----END CERTIFICATE REQUEST-----\n`
  return Buffer.from(pem).toString('base64')
}

t.test('requests are read and verified as Go does it', async t => {
  for (const { der, problem, organizations } of rows) {
    t.equal(requestProblem(asked(der)), problem, der)
    const request = parseRequest(asked(der))
    const found = typeof request === 'string' ? undefined : request.organizations.join(' ')
    t.equal(found, organizations, der)
  }
})

t.test('a request with many attributes, or a large key, is read at once', async t => {
  const part = (tag: number, ...contents: Buffer[]): Buffer => {
    const content = Buffer.concat(contents)
    const length = Buffer.alloc(4)
    length.writeUInt32BE(content.length)
    const digits = length.subarray(length.findIndex(byte => byte !== 0))
    const head = content.length < 0x80 ? [content.length] : [0x80 + digits.length, ...digits]
    return Buffer.concat([Buffer.from([tag, ...head]), content])
  }
  const hex = (text: string): Buffer => Buffer.from(text, 'hex')
  const rsa = part(0x30, hex('06092a864886f70d010101'), hex('0500'))
  const signature = part(0x30, hex('06092a864886f70d01010b'), hex('0500'))
  const request = (modulus: Buffer, attributes: Buffer): string => {
    const key = part(0x30, part(0x02, modulus), hex('0203010001'))
    const info = part(0x30, rsa, part(0x03, hex('00'), key))
    const body = part(0x30, hex('020100'), hex('3000'), info, part(0xa0, attributes))
    return asked(part(0x30, body, signature, part(0x03, hex('00'), modulus)).toString('base64'))
  }
  const odd = (size: number): Buffer => Buffer.alloc(size, 0x7f)
  const wrong = 'crypto/rsa: verification error'
  t.equal(requestProblem(request(odd(256), Buffer.alloc(1_000_000, '3000', 'hex'))), wrong)
  t.equal(requestProblem(request(odd(1_000_000), Buffer.alloc(0))), wrong)
})
