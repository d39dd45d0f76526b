/** The state of a conversion from JSON to protobuf, and the values that it writes. */

import { bigVarint, ByteWriter, giveUp, varintLength, writeVarint } from '@watchglass/base'
import { jsonNumber, jsonPlainText, JsonTape, jsonText, utf8Length } from '@watchglass/go'

/** A conversion under way: the input as a tape, the output, and where members were found. */
export class EncodeState extends ByteWriter {
  readonly tape: JsonTape = new JsonTape()
  /** For each message that is being written, the nodes of its members, -1 where there is none. */
  slots: Int32Array = new Int32Array(1024)
  slotCount = 0
  depth = 0

  /** Takes `count` slots, empty; returns the first. They are given back by setting `slotCount`. */
  takeSlots(count: number): number {
    const base = this.slotCount
    this.slotCount += count
    if (this.slotCount > this.slots.length) {
      const grown = new Int32Array(this.slotCount * 2)
      grown.set(this.slots)
      this.slots = grown
    }
    this.slots.fill(-1, base, this.slotCount)
    return base
  }

  /** A tag, a length, a number: up to 2^53. */
  writeVarint(value: number): void {
    if (this.length + 10 > this.bytes.length) this.reserve(this.length + 10)
    this.length = writeVarint(this.bytes, this.length, value)
  }

  writeSigned(value: bigint): void {
    for (const byte of bigVarint(value)) this.appendByte(byte)
  }

  /** Begins something with a length, of which `guess` bytes are expected; returns where it
   *  begins. */
  begin(guess: number): number {
    const width = varintLength(guess)
    if (this.length + width > this.bytes.length) this.reserve(this.length + width)
    this.length += width
    return this.length
  }

  /** Ends what `begin` with the same guess began at `start`: writes its length before it, moving it
   *  where that takes another number of bytes than expected. */
  finish(start: number, guess: number): void {
    const size = this.length - start
    const width = varintLength(guess)
    const needed = varintLength(size)
    if (needed !== width) {
      this.reserve(this.length + needed)
      this.bytes.copyWithin(start - width + needed, start, this.length)
      this.length += needed - width
    }
    writeVarint(this.bytes, start - width, size)
  }

  /** The bytes of a text node, without a length. */
  writeTextBytes(node: number): void {
    const { tape } = this
    const start = tape.start(node)
    const end = tape.end(node)
    const kind = tape.kind(node)
    if (kind !== jsonPlainText && kind !== jsonText) giveUp('a member is not a text')
    if (this.length + (end - start) * 3 > this.bytes.length) {
      this.reserve(this.length + (end - start) * 3)
    }
    if (kind === jsonText) {
      this.#writeDecoded(start, end)
    } else if (end - start > 32) {
      this.bytes.set(tape.input.subarray(start, end), this.length)
      this.length += end - start
    } else {
      for (let at = start; at < end; at++) this.bytes[this.length++] = tape.input[at] as number
    }
  }

  /** A text with its length. */
  writeText(node: number): void {
    const guess = this.tape.end(node) - this.tape.start(node)
    const start = this.begin(guess)
    this.writeTextBytes(node)
    this.finish(start, guess)
  }

  /** A plain text or a number, for values that are parsed. */
  asciiOf(node: number): string {
    const { tape } = this
    const kind = tape.kind(node)
    const end = tape.end(node)
    const isAscii = kind === jsonPlainText || kind === jsonNumber
    if (!isAscii || end - tape.start(node) > 200) giveUp('a member has a value of another type')
    let text = ''
    for (let at = tape.start(node); at < end; at++) {
      text += String.fromCharCode(tape.input[at] as number)
    }
    return text
  }

  /** Text with escapes, or beyond ASCII: escapes are resolved, and what is no UTF-8, or half of a
   *  pair, becomes U+FFFD. */
  #writeDecoded(start: number, end: number): void {
    const { input } = this.tape
    for (let at = start; at < end;) {
      const byte = input[at] as number
      if (byte === 0x5c) {
        at = this.#writeEscape(at + 1)
      } else if (byte < 0x80) {
        this.bytes[this.length++] = byte
        at++
      } else {
        const length = utf8Length(input, at, end)
        if (length === 0) this.#writeCodePoint(0xfffd)
        for (let i = 0; i < length; i++) this.bytes[this.length++] = input[at + i] as number
        at += Math.max(length, 1)
      }
    }
  }

  #writeEscape(at: number): number {
    const letter = this.tape.input[at] as number
    if (letter !== 0x75) {
      const index = 'bfnrt'.indexOf(String.fromCharCode(letter))
      this.bytes[this.length++] = index === -1 ? letter : '\b\f\n\r\t'.charCodeAt(index)
      return at + 1
    }
    const code = this.#hexAt(at + 1)
    if (code < 0xd800 || code > 0xdfff) {
      this.#writeCodePoint(code)
      return at + 5
    }
    const { input } = this.tape
    const isPair = code < 0xdc00 && input[at + 5] === 0x5c && input[at + 6] === 0x75
    const low = isPair ? this.#hexAt(at + 7) : 0
    if (low < 0xdc00 || low > 0xdfff) {
      this.#writeCodePoint(0xfffd)
      return at + 5
    }
    this.#writeCodePoint(0x1_0000 + ((code - 0xd800) << 10) + (low - 0xdc00))
    return at + 11
  }

  #hexAt(at: number): number {
    let value = 0
    for (let i = at; i < at + 4; i++) {
      const byte = this.tape.input[i] as number
      value = value * 16 + (byte <= 0x39 ? byte - 0x30 : (byte | 0x20) - 0x57)
    }
    return value
  }

  #writeCodePoint(code: number): void {
    const { bytes } = this
    if (code < 0x80) {
      bytes[this.length++] = code
    } else if (code < 0x800) {
      bytes[this.length++] = 0xc0 | (code >> 6)
      bytes[this.length++] = 0x80 | (code & 0x3f)
    } else if (code < 0x1_0000) {
      bytes[this.length++] = 0xe0 | (code >> 12)
      bytes[this.length++] = 0x80 | ((code >> 6) & 0x3f)
      bytes[this.length++] = 0x80 | (code & 0x3f)
    } else {
      bytes[this.length++] = 0xf0 | (code >> 18)
      bytes[this.length++] = 0x80 | ((code >> 12) & 0x3f)
      bytes[this.length++] = 0x80 | ((code >> 6) & 0x3f)
      bytes[this.length++] = 0x80 | (code & 0x3f)
    }
  }
}
