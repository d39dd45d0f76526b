/** Indents JSON as kube-apiserver does for people: two spaces a level, `": "` after names, empty
 *  objects and arrays in one piece, no line feed at the end. That is what Go's json.MarshalIndent
 *  makes of the same bytes.
 *
 *  It works on any division of a document into pieces, so that a list need not be whole to be
 *  indented. */

import { ByteWriter } from '@watchglass/base'

const quote = 0x22
const backslash = 0x5c
const lineFeed = 0x0a
const space = 0x20

/** Indents one document, piece by piece. */
export class JsonIndenter {
  readonly #out = new ByteWriter()
  #depth = 0
  #isInString = false
  #isEscaped = false
  /** An object or array has just begun; it may still turn out empty. */
  #isOpened = false

  /** The text that `piece`, the next of the document, becomes. */
  push(piece: Uint8Array): Uint8Array {
    for (let i = 0; i < piece.length; i++) {
      if (this.#isInString) i = this.#copyString(piece, i)
      else this.#punctuate(piece[i] as number)
    }
    const indented = this.#out.copy()
    this.#out.clear()
    return indented
  }

  /** Copies up to the end of the string or of the piece; returns the position of the last byte
   *  copied. */
  #copyString(piece: Uint8Array, start: number): number {
    let i = start
    for (; i < piece.length; i++) {
      const byte = piece[i] as number
      if (this.#isEscaped) this.#isEscaped = false
      else if (byte === backslash) this.#isEscaped = true
      else if (byte === quote) {
        this.#isInString = false
        break
      }
    }
    const end = Math.min(i + 1, piece.length)
    this.#out.append(piece, start, end)
    return end - 1
  }

  #punctuate(byte: number): void {
    const out = this.#out
    if (byte === space || byte === lineFeed || byte === 0x09 || byte === 0x0d) return
    const isEnd = byte === 0x5d || byte === 0x7d
    if (this.#isOpened && !isEnd) {
      this.#isOpened = false
      this.#depth++
      this.#breakLine()
    }
    switch (byte) {
      case quote:
        this.#isInString = true
        out.appendByte(byte)
        break
      case 0x5b:
      case 0x7b:
        this.#isOpened = true
        out.appendByte(byte)
        break
      case 0x2c:
        out.appendByte(byte)
        this.#breakLine()
        break
      case 0x3a:
        out.appendAscii(': ')
        break
      case 0x5d:
      case 0x7d:
        if (this.#isOpened) {
          this.#isOpened = false
        } else {
          this.#depth--
          this.#breakLine()
        }
        out.appendByte(byte)
        break
      default:
        out.appendByte(byte)
    }
  }

  #breakLine(): void {
    this.#out.appendByte(lineFeed)
    for (let i = 0; i < this.#depth; i++) this.#out.appendAscii('  ')
  }
}

/** A whole document, indented. */
export function indentJson(json: Uint8Array): Uint8Array {
  return new JsonIndenter().push(json)
}
