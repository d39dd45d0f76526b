/** The gate for objects while servers of different minor versions answer: it lets those be shown
 *  that all of these minors write in the same bytes. What differs in the data may differ on few
 *  objects only, such as those that have a new field, so each object is written as each minor
 *  writes it. */

import { ByteWriter, NotExact } from '@watchglass/base'
import {
  bookmarkFrame,
  type Gate,
  joined,
  listBody,
  type ObjectEncoder,
  type OutputForm,
  type OutputPlace,
  VersionsDiffer,
} from '@watchglass/codec'
import type { KeyValue } from '@watchglass/store'
import { type Resource, scaleBody } from '@watchglass/kube'

export interface MinorsGateOptions {
  /** Differs for different sets of minors. */
  readonly name: string
  readonly resource: Resource
  /** Encoders, one for each minor. */
  readonly encoders: readonly ObjectEncoder[]
  readonly form: OutputForm
}

export class MinorsGate implements Gate {
  readonly name: string
  readonly #resource: Resource
  readonly #encoders: readonly ObjectEncoder[]
  readonly #form: OutputForm
  readonly #first = new ByteWriter()
  readonly #other = new ByteWriter()

  constructor({ name, resource, encoders, form }: MinorsGateOptions) {
    this.name = name
    this.#resource = resource
    this.#encoders = encoders
    this.#form = { ...form, gate: undefined }
  }

  /** True if what is around the objects is alike, too: the kind of a list, the columns of a
   *  Table. */
  get areListsAlike(): boolean {
    if (this.#form.subresource !== undefined) return true
    return areEqual(
      this.#encoders.map(encoder =>
        joined(
          listBody(encoder, {
            form: this.#form,
            isPretty: false,
            meta: { resourceVersion: '1' },
            runs: [],
          }),
        ),
      ),
    )
  }

  /** True if the objects of bookmarks are alike: empty ones of the resource's kind. */
  get areBookmarksAlike(): boolean {
    return [true, false].every(endsInitialEvents =>
      areEqual(
        this.#encoders.map(encoder =>
          bookmarkFrame(
            encoder,
            { revision: 1, endsInitialEvents },
            { form: this.#form, hasColumns: true },
          ),
        ),
      ),
    )
  }

  objection(entry: KeyValue, place: OutputPlace): NotExact | undefined {
    const [first, ...others] = this.#encoders
    if (first === undefined) return undefined
    const ours = this.#write(this.#first, first, { entry, place })
    // What cannot be shown at all has a problem of its own.
    if (ours instanceof NotExact) return undefined
    const areAlike = others.every(encoder => {
      const theirs = this.#write(this.#other, encoder, { entry, place })
      return !(theirs instanceof NotExact) && ours.equals(theirs)
    })
    return areAlike ? undefined : differently
  }

  #write(
    out: ByteWriter,
    encoder: ObjectEncoder,
    { entry, place }: { readonly entry: KeyValue; readonly place: OutputPlace },
  ): Buffer | NotExact {
    const form = this.#form
    if (form.subresource === 'scale') {
      const body = scaleBody(this.#resource, { isPretty: false }, { encoder, form, entry })
      return body instanceof NotExact ? body : Buffer.from(body)
    }
    out.clear()
    const problem = encoder.append(out, entry, { form, revision: entry.modRevision, place })
    return problem ?? Buffer.from(out.bytes.buffer, out.bytes.byteOffset, out.length)
  }
}

/** Nothing is shown in a form whose lists differ. */
export const nothingAlike: Gate = { name: 'differs', objection: () => differently }

const differently = new VersionsDiffer()

function areEqual(all: readonly (Uint8Array | NotExact)[]): boolean {
  const [first, ...others] = all
  if (first === undefined || first instanceof NotExact) return false
  return others.every(one => !(one instanceof NotExact) && Buffer.from(first).equals(one))
}
