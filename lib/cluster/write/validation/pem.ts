/** Blocks of PEM, as Go reads them: what stands between them, and what is broken, is passed
 *  over. */

export interface PemBlock {
  readonly type: string
  readonly hasHeaders: boolean
  readonly bytes: Buffer
}

const block =
  /^-----BEGIN ([^\n]*?)-----[ \t\r]*\n((?:(?!-----)[^\n:]+:[^\n]*\n)*)([A-Za-z0-9+/=\s]*)-----END \1-----[ \t\r]*$/gm

/** @param text PEM, in base64 as objects have it */
export function pemBlocks(text: string): PemBlock[] {
  const pem = Buffer.from(text, 'base64').toString('latin1')
  return Array.from(pem.matchAll(block), ([, type = '', headers = '', body = '']) => ({
    type,
    hasHeaders: headers !== '',
    bytes: Buffer.from(body, 'base64'),
  }))
}
