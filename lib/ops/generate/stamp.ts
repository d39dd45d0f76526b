/** Many objects that differ in a few places of fixed width: encoded once with marks in these places, then copied and filled in.
 *  Encoding each pod anew takes 50 times as long, and made 100,000 pods a matter of half a minute. */

import { assert } from '../../base/assert.ts'

/** What differs between the objects: texts, each as long as its mark, and times in seconds since 1970. */
export interface Variables {
  readonly texts: readonly string[]
  readonly seconds: readonly number[]
}

export class Stamp {
  readonly #bytes: Buffer
  /** Where each text and each time stands. */
  readonly #texts: readonly (readonly number[])[]
  readonly #seconds: readonly (readonly number[])[]

  /** `bytes` is the encoded object with marks for its variables; no mark may stand in it by chance. */
  constructor(bytes: Uint8Array, marks: Variables) {
    this.#bytes = Buffer.from(bytes)
    this.#texts = marks.texts.map(text => placesOf(this.#bytes, Buffer.from(text)))
    this.#seconds = marks.seconds.map(seconds => placesOf(this.#bytes, secondsField(seconds)))
  }

  /** The object with the variables in place of the marks. */
  fill({ texts, seconds }: Variables): Uint8Array {
    const copy = Buffer.from(this.#bytes)
    for (const [i, places] of this.#texts.entries()) {
      for (const place of places) copy.write(texts[i] ?? '', place, 'latin1')
    }
    for (const [i, places] of this.#seconds.entries()) {
      if (places.length === 0) continue
      const field = secondsField(seconds[i] ?? 0)
      for (const place of places) copy.set(field, place)
    }
    return copy
  }
}

/** The field of a protobuf Time that holds its seconds. Five bytes of varint reach from 1978 to 3058. */
function secondsField(seconds: number): Uint8Array {
  assert(seconds >= 2 ** 28 && seconds < 2 ** 35, `time ${seconds} has another width`)
  const field = new Uint8Array(6)
  field[0] = 0x08
  for (let i = 0, rest = Math.floor(seconds); i < 5; i++, rest = Math.floor(rest / 128)) {
    field[i + 1] = (rest % 128) | (i < 4 ? 0x80 : 0)
  }
  return field
}

function placesOf(bytes: Buffer, mark: Uint8Array): number[] {
  const places: number[] = []
  for (let at = bytes.indexOf(mark); at >= 0; at = bytes.indexOf(mark, at + mark.length)) {
    places.push(at)
  }
  return places
}
