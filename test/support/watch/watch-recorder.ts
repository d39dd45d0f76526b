/** A watch sink that records its calls, so that tests can wait for them and check them. */

import assert from 'node:assert/strict'
import type { CacheError } from '../../../lib/base/errors.ts'
import { type Key, textFromKey } from '../../../lib/base/keys.ts'
import type { Revision } from '../../../lib/base/revision.ts'
import type { ResponseHeader, RevisionChanges, WatchSink } from '../../../lib/etcd/client.ts'
import type { Change } from '../../../lib/store/event.ts'

export class WatchRecorder implements WatchSink {
  readonly batches: RevisionChanges[] = []
  readonly progressed: Revision[] = []
  createdCount = 0
  readonly failures: CacheError[] = []
  #wake: (() => void)[] = []

  created(header: ResponseHeader): void {
    assert.equal(this.failures.length, 0, 'created after the end')
    assert(header.revision >= 0)
    this.createdCount++
    this.#changed()
  }

  changed(batches: readonly RevisionChanges[]): void {
    assert.equal(this.failures.length, 0, 'changes after the end')
    assert.equal(this.createdCount, 1, 'changes before the watcher was created')
    assert.notEqual(batches.length, 0)
    this.batches.push(...batches)
    this.#changed()
  }

  progress(header: ResponseHeader): void {
    assert.equal(this.failures.length, 0, 'progress after the end')
    this.progressed.push(header.revision)
    this.#changed()
  }

  ended(failure: CacheError): void {
    this.failures.push(failure)
    assert.equal(this.failures.length, 1, 'ended twice')
    this.#changed()
  }

  /** Changes as texts such as `put a 1` and `delete a`. */
  get changes(): string[] {
    return this.batches.flatMap(batch => batch.changes.map(textOfChange))
  }

  /** Resolves once `condition` holds; fails when the watch ends before that. */
  async until(condition: (recorder: this) => boolean): Promise<void> {
    while (!condition(this)) {
      const [failure] = this.failures
      if (failure !== undefined) throw failure
      await this.#next()
    }
  }

  async untilCreated(): Promise<void> {
    await this.until(({ createdCount }) => createdCount > 0)
  }

  async untilEnded(): Promise<CacheError> {
    for (;;) {
      const [failure] = this.failures
      if (failure !== undefined) return failure
      await this.#next()
    }
  }

  #next(): Promise<void> {
    return new Promise(resolve => this.#wake.push(resolve))
  }

  #changed(): void {
    for (const wake of this.#wake.splice(0)) wake()
  }
}

function textOfChange(change: Change): string {
  const text = (key: Key): string => textFromKey(key)
  return change.type === 'put'
    ? `put ${text(change.entry.key)} ${Buffer.from(change.entry.value).toString()}`
    : `delete ${text(change.key)}`
}
