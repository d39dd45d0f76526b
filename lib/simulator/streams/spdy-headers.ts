/** Blocks of headers in SPDY/3.1: names and values with their lengths, compressed with a dictionary
 *  that both sides know. All blocks of a direction are one compressed stream. */

import { constants, createDeflate, createInflate, type Deflate, type Inflate } from 'node:zlib'

/** The words of the dictionary, each with its length before it. */
const words =
  'options head post put delete trace accept accept-charset accept-encoding accept-language accept-ranges age allow authorization cache-control connection content-base content-encoding content-language content-length content-location content-md5 content-range content-type date etag expect expires from host if-match if-modified-since if-none-match if-range if-unmodified-since last-modified location max-forwards pragma proxy-authenticate proxy-authorization range referer retry-after server te trailer transfer-encoding upgrade user-agent vary via warning www-authenticate method get status 200_OK version HTTP/1.1 url public set-cookie keep-alive origin'
/** The end of the dictionary. */
const rest =
  '100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized403 Forbidden404 Not Found500 Internal Server Error501 Not Implemented503 Service UnavailableJan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMTchunked,text/html,image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,text/plain,text/javascript,publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0.'

export const dictionary: Buffer = Buffer.concat([
  ...words.split(' ').map(word => lengthAnd(word.replace('_', ' '))),
  Buffer.from(rest),
])

/** A block that is longer than this when it is uncompressed is refused. */
const blockMaxBytes = 16 * 1024

export type Headers = ReadonlyMap<string, string>

export class BadHeaders extends Error {}

/** Reads blocks one after the other. */
export class HeaderReader {
  readonly #inflate: Inflate = createInflate({ dictionary })
  #parts: Buffer[] = []
  #size = 0
  #fail: (error: Error) => void = () => {}

  constructor() {
    this.#inflate.on('error', (error: Error) => this.#fail(new BadHeaders(error.message)))
    this.#inflate.on('data', (part: Buffer) => {
      this.#size += part.length
      if (this.#size > blockMaxBytes) {
        this.#fail(new BadHeaders('headers are too long'))
        this.#inflate.destroy()
      } else this.#parts.push(part)
    })
  }

  async read(block: Buffer): Promise<Headers> {
    this.#parts = []
    this.#size = 0
    await new Promise<void>((resolve, reject) => {
      this.#fail = reject
      this.#inflate.write(block)
      this.#inflate.flush(constants.Z_SYNC_FLUSH, resolve)
    })
    return headersIn(Buffer.concat(this.#parts))
  }

  close(): void {
    this.#inflate.destroy()
  }
}

/** Writes blocks one after the other. */
export class HeaderWriter {
  readonly #deflate: Deflate = createDeflate({ dictionary })
  #parts: Buffer[] = []

  constructor() {
    this.#deflate.on('data', (part: Buffer) => this.#parts.push(part))
    // Nobody waits for what is written after the end.
    this.#deflate.on('error', () => undefined)
  }

  async write(headers: Headers): Promise<Buffer> {
    this.#parts = []
    await new Promise<void>(resolve => {
      this.#deflate.write(bytesOf(headers))
      this.#deflate.flush(constants.Z_SYNC_FLUSH, resolve)
    })
    return Buffer.concat(this.#parts)
  }

  close(): void {
    this.#deflate.destroy()
  }
}

function bytesOf(headers: Headers): Buffer {
  const count = Buffer.alloc(4)
  count.writeUInt32BE(headers.size)
  return Buffer.concat([count, ...[...headers].flat().map(lengthAnd)])
}

function lengthAnd(text: string): Buffer {
  const bytes = Buffer.from(text)
  const length = Buffer.alloc(4)
  length.writeUInt32BE(bytes.length)
  return Buffer.concat([length, bytes])
}

function headersIn(bytes: Buffer): Headers {
  const headers = new Map<string, string>()
  let at = 0
  const number = (): number => {
    if (at + 4 > bytes.length) throw new BadHeaders('headers end too early')
    at += 4
    return bytes.readUInt32BE(at - 4)
  }
  const text = (): string => {
    const length = number()
    if (at + length > bytes.length) throw new BadHeaders('headers end too early')
    at += length
    return bytes.toString('utf8', at - length, at)
  }
  const count = number()
  for (let i = 0; i < count; i++) headers.set(text().toLowerCase(), text())
  return headers
}
