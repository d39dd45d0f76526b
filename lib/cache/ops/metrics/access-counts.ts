/** Metrics of access reviews, audit records, limits and internal errors. */

import { Counter, type Registry } from 'prom-client'

/** Counts access reviews, lost audit records, requests that limits have refused, and errors of this
 *  program. */
export class AccessCounts {
  readonly #reviews: Counter
  readonly #prolonged: Counter
  readonly #unrecorded: Counter
  readonly #limited: Counter
  readonly #internalErrors: Counter

  constructor(registry: Registry) {
    const registers = [registry]
    this.#reviews = new Counter({
      name: 'watchglass_access_reviews_total',
      help: 'Access reviews and questions who a caller is that were sent to the upstream, by kind (self, subject, identity) and outcome (allowed, denied, refused, known, failed).',
      labelNames: ['kind', 'outcome'],
      registers,
    })
    this.#prolonged = new Counter({
      name: 'watchglass_access_prolonged_total',
      help: 'Requests answered by an access review that had expired by up to a minute, because the upstream had no answers to reviews.',
      registers,
    })
    this.#unrecorded = new Counter({
      name: 'watchglass_audit_events_lost_total',
      help: 'Audit events that could not be written.',
      registers,
    })
    this.#limited = new Counter({
      name: 'watchglass_limited_requests_total',
      help: 'Requests refused with 429, by kind (small, list, watch, passed) and by whose bound was reached (user, all).',
      labelNames: ['kind', 'bound'],
      registers,
    })
    this.#internalErrors = new Counter({
      name: 'watchglass_internal_errors_total',
      help: 'Requests that a bug of this program has ended. The log has the stack of each.',
      registers,
    })
    this.#begin()
  }

  #begin(): void {
    // A series that is there with 0 shows its first count as an increase.
    for (const kind of ['small', 'list', 'watch', 'passed']) {
      for (const bound of ['user', 'all']) this.#limited.inc({ kind, bound }, 0)
    }
  }

  fault(): void {
    this.#internalErrors.inc()
  }

  review(kind: string, outcome: string): void {
    this.#reviews.inc({ kind, outcome })
  }

  prolonged(): void {
    this.#prolonged.inc()
  }

  auditLost(lines: number): void {
    this.#unrecorded.inc(lines)
  }

  limited(kind: string, bound: string): void {
    this.#limited.inc({ kind, bound })
  }
}
