/** The client's side of SPDY/3.1: its frames, and its blocks of headers. */

import { constants, createDeflate } from 'node:zlib'
import { dictionary } from '../../../lib/simulator/streams/spdy-headers.ts'

/** Blocks of headers, which are one compressed stream. */
export class HeaderBlocks {
  readonly #deflate = createDeflate({ dictionary })
  #parts: Buffer[] = []

  constructor() {
    this.#deflate.on('data', (part: Buffer) => this.#parts.push(part))
  }

  async block(headers: Readonly<Record<string, string>>): Promise<Buffer> {
    const texts = Object.entries(headers).flat()
    const numbers = [texts.length / 2, ...texts.map(text => text.length)]
    const [count, ...lengths] = numbers.map(number => {
      const bytes = Buffer.alloc(4)
      bytes.writeUInt32BE(number)
      return bytes
    })
    const parts = texts.map((text, i) => Buffer.concat([lengths[i]!, Buffer.from(text)]))
    return this.deflated(Buffer.concat([count!, ...parts]))
  }

  async deflated(bytes: Buffer): Promise<Buffer> {
    this.#parts = []
    await new Promise<void>(resolve => {
      this.#deflate.write(bytes)
      this.#deflate.flush(constants.Z_SYNC_FLUSH, resolve)
    })
    return Buffer.concat(this.#parts)
  }
}

export function controlFrame(type: number, payload: Buffer, flags = 0): Buffer {
  const head = Buffer.of(0x80, 3, 0, type, flags, 0, 0, 0)
  head.writeUIntBE(payload.length, 5, 3)
  return Buffer.concat([head, payload])
}

export function dataFrame(stream: number, text: string, flags = 0): Buffer {
  const head = Buffer.of(0, 0, 0, stream, flags, 0, 0, 0)
  head.writeUIntBE(text.length, 5, 3)
  return Buffer.concat([head, Buffer.from(text)])
}

/** The frame that opens a stream. */
export function openFrame(stream: number, block: Buffer, flags = 0): Buffer {
  const head = Buffer.of(0, 0, 0, stream, 0, 0, 0, 0, 0, 0)
  return controlFrame(1, Buffer.concat([head, block]), flags)
}
