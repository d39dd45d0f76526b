/** Custom resources in versions that only a webhook can make of the stored ones. Whoever may call
 *  webhooks keeps here what they have made, once for each stored object and version and as
 *  long as the object is held; whoever writes objects finds it. */

import { NotExact } from '@watchglass/base'
import type { StoredValue } from '../../stored-value.ts'

/** A version of a definition: what another revision of it makes is another thing. */
export interface ConvertedForm {
  readonly definedAt: number
  readonly apiVersion: string
}

export class ConvertedObjects {
  readonly #made = new WeakMap<StoredValue, Map<string, StoredValue>>()

  find(stored: StoredValue, form: ConvertedForm): StoredValue | undefined {
    return this.#made.get(stored)?.get(nameOf(form))
  }

  keep(stored: StoredValue, form: ConvertedForm, bytes: Uint8Array): void {
    let forms = this.#made.get(stored)
    if (forms === undefined) this.#made.set(stored, (forms = new Map()))
    forms.set(nameOf(form), { bytes, start: 0, end: bytes.length })
  }
}

function nameOf({ definedAt, apiVersion }: ConvertedForm): string {
  return `${definedAt} ${apiVersion}`
}

/** The object is stored in another version, and nobody has asked the webhook yet. */
export class NeedsConversion extends NotExact {
  constructor() {
    super('value needs a conversion webhook')
  }
}
