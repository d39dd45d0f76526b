/** Blocks of PEM, as Go reads them: what stands between them, and what is broken, is passed
 *  over. */

export interface PemBlock {
  readonly type: string
  readonly hasHeaders: boolean
  readonly bytes: Buffer
}

/** No part can match what another does, so that a text is read once, however it is made. */
const block =
  /^-----BEGIN ([^\n]*?)-----[ \t\r]*\n((?:(?!-----)[^\n:]+:[^\n]*\n)*)([A-Za-z0-9+/=\s]*)-----END \1-----[ \t\r]*$/gm

export function pemBlocks(text: string): PemBlock[] {
  return [...text.matchAll(block)].flatMap(([, type = '', headers = '', lines = '']) => {
    const body = lines.replaceAll(/\s/g, '')
    if (body.length % 4 !== 0 || !/^[^=]*={0,2}$/.test(body)) return []
    return [{ type, hasHeaders: headers !== '', bytes: Buffer.from(body, 'base64') }]
  })
}

/** The blocks of PEM that is in base64, as objects have it. */
export function pemBlocksInBase64(text: string): PemBlock[] {
  return pemBlocks(Buffer.from(text, 'base64').toString('latin1'))
}
