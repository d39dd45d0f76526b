/** Records under pseudonyms. What cannot be read cannot be renamed: such values, which are mostly
 *  encrypted, are left out, and so are all later changes of their keys. */

import { type Key, type Logger, NotExact, type Revision } from '@watchglass/base'
import type { RevisionChanges } from '@watchglass/etcd'
import type { Anonymizer } from '@watchglass/simulator'
import type { RecordingTarget } from './recorder.ts'
import { type Change, KeyValue } from '@watchglass/store'

export class AnonymousTarget implements RecordingTarget {
  readonly #target: RecordingTarget
  readonly #anonymizer: Anonymizer
  readonly #logger: Logger
  readonly #leftOut = new Set<Key>()

  constructor(target: RecordingTarget, anonymizer: Anonymizer, logger: Logger) {
    this.#target = target
    this.#anonymizer = anonymizer
    this.#logger = logger
  }

  async writeBase(at: Revision, entries: readonly KeyValue[]): Promise<void> {
    await this.#target.writeBase(
      at,
      entries.flatMap(entry => this.#entry(entry) ?? []),
    )
  }

  async endBase(at: Revision): Promise<void> {
    await this.#target.endBase?.(at)
  }

  async write({ revision, changes }: RevisionChanges): Promise<void> {
    const renamed = changes.flatMap(change => this.#change(change) ?? [])
    if (renamed.length > 0) await this.#target.write({ revision, changes: renamed })
  }

  #change(change: Change): Change | undefined {
    if (change.type === 'put') {
      const { key, createRevision, modRevision } = change.entry
      const wasLeftOut = this.#leftOut.has(key)
      const entry = this.#entry(change.entry)
      if (entry !== undefined) return { type: 'put', entry }
      // What was there of the key before does not stay behind.
      return wasLeftOut || createRevision === modRevision ? undefined : this.#deletion(key)
    }
    return this.#leftOut.has(change.key) ? undefined : this.#deletion(change.key)
  }

  #deletion(key: Key): Change {
    return { type: 'delete', key: this.#anonymizer.key(key) }
  }

  #entry(entry: KeyValue): KeyValue | undefined {
    const { key } = entry
    if (this.#leftOut.has(key)) return undefined
    const bytes = this.#anonymizer.value(entry.value)
    if (bytes instanceof NotExact) {
      this.#leftOut.add(key)
      this.#logger.warn('a key is left out of the recording: its value cannot be anonymized', {
        reason: bytes.reason,
        keys: this.#leftOut.size,
      })
      return undefined
    }
    const { createRevision, modRevision, version, lease } = entry
    const value = { bytes, start: 0, end: bytes.length }
    const meta = { createRevision, modRevision, version, lease }
    return new KeyValue(this.#anonymizer.key(key), value, meta)
  }
}
