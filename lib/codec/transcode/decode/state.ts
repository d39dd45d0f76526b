/** The state that compiled functions of a conversion share: the input, the output, and how they
 *  give up. */

import { ByteWriter } from '@watchglass/base'

const noInput = new Uint8Array(0)
const noInputView = new DataView(noInput.buffer)

/** A conversion under way: its output, its input, and what its functions pass around beside
 *  positions. */
export class DecodeState extends ByteWriter {
  input: Uint8Array = noInput
  inputView: DataView = noInputView
  /** A second result of readers that return one number: the position after what they read. */
  at = 0
  /** Nesting of messages that can contain themselves. */
  depth = 0
  /** Text of the object's `metadata.resourceVersion` in a view. */
  resourceVersion = ''
  /** Window of a message whose labels the object takes when it has none of its own; -1 when there
   *  is none. */
  labelsStart = -1
  labelsEnd = -1

  /** Sets the array that windows of this conversion lie in. Its view is kept while the array stays
   *  the same, as objects share slabs; and a `Buffer` is seen as a plain array, so that hot loops
   *  meet one kind. */
  setInput(bytes: Uint8Array): void {
    if (bytes === this.#source) return
    this.#source = bytes
    this.input = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.inputView = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  /** Begins a conversion of what `bytes` holds into the memory of `out`. */
  borrow(out: ByteWriter, bytes: Uint8Array): void {
    this.setInput(bytes)
    this.bytes = out.bytes
    this.view = out.view
    this.length = out.length
    this.depth = 0
    this.labelsStart = -1
  }

  /** Ends it: `out` gets the memory, which may be another by now. Its length stays as it was
   *  set. */
  giveBack(out: ByteWriter): void {
    out.bytes = this.bytes
    out.view = this.view
  }

  #source: Uint8Array = noInput
}

/** Writes what the input holds from `start` to `end` at `position` of the output, and returns the
 *  position after it. There is room for six bytes of output for each byte of input, and
 *  `slackBytes` more; what may need beyond that reserves it. */
export type WriteValue = (out: DecodeState, start: number, end: number, position: number) => number

/** More than any value needs beside its own bytes: a time, a number, a few brackets. */
export const slackBytes = 64

/** Nesting beyond this is not exact. The API server's own limit for JSON is far above; no stored
 *  object comes near. */
export const maxDepth = 200
