/** Metrics of the upstream. */

import { Counter, Gauge, type Registry } from 'prom-client'

/** The state of the upstream, as its metrics need it. */
export interface UpstreamFacts {
  readonly isUp: boolean
  readonly isVersionCovered: boolean
  /** The operator has switched all reads to the upstream. */
  readonly isSwitchedOff: boolean
  /** Time for which the upstream has not said its version, or what it serves. */
  readonly unansweredSeconds: number
  /** Our own questions, by outcome. */
  readonly questions: Readonly<Record<string, number>>
  /** Keyspaces by how they compare. */
  readonly storageStates: Readonly<Record<string, number>>
  /** Passed requests that have not ended: `short`, `long` (watches, logs) and `upgrade`. */
  readonly underWay: Readonly<Record<string, number>>
  readonly evidence: EvidenceCounts
}

/** The comparisons with the upstream that precede answers from the mirror. */
export interface EvidenceCounts {
  /** By outcome. */
  readonly comparisons: Readonly<Record<string, number>>
  /** Bytes that the upstream has sent for comparisons. */
  readonly bytes: number
  /** Resources in a form, by state. */
  readonly forms: Readonly<Record<string, number>>
}

export class UpstreamCounts {
  readonly #registry: Registry
  readonly #passed: Counter
  /** By reason. They are added to the counter when metrics are scraped, because it checks and
   *  hashes labels with each count. */
  readonly #untold = new Map<string, number>()
  readonly #collapsed: Counter
  readonly #compared: Counter
  readonly #proofs: Counter

  constructor(registry: Registry) {
    this.#registry = registry
    this.#passed = new Counter({
      name: 'watchglass_passed_requests_total',
      help: 'Requests that passed to the upstream, by the reason why they were not answered here.',
      labelNames: ['reason'],
      registers: [],
      collect: () => this.#tell(),
    })
    this.#collapsed = new Counter({
      name: 'watchglass_collapsed_reads_total',
      help: 'Reads that passed without a request of their own: they had the answer to an identical read of the same user that began after they came.',
      registers: [],
    })
    this.#compared = new Counter({
      name: 'watchglass_compared_reads_total',
      help: 'Reads that were compared with the upstream (--compare), by outcome.',
      labelNames: ['outcome'],
      registers: [],
    })
    this.#proofs = new Counter({
      name: 'watchglass_progress_proofs_total',
      help: 'Where the upstream itself is mirrored: how it was proven that nothing of a resource is missing: by an event, by the bookmark of its watch, or by that of a short watch.',
      labelNames: ['proof'],
      registers: [],
    })
    for (const proof of ['event', 'bookmark', 'short-watch']) this.#proofs.inc({ proof }, 0)
    for (const outcome of ['same', 'differs', 'moved', 'failed']) this.#compared.inc({ outcome }, 0)
  }

  /** Progress of a mirrored resource was proven. */
  proven(proof: string): void {
    this.#proofs.inc({ proof })
  }

  passed(reason: string): void {
    this.#untold.set(reason, (this.#untold.get(reason) ?? 0) + 1)
  }

  collapsed(reads: number): void {
    this.#collapsed.inc(reads)
  }

  #tell(): void {
    for (const [reason, count] of this.#untold) this.#passed.inc({ reason }, count)
    this.#untold.clear()
  }

  compared(outcome: string): void {
    this.#compared.inc({ outcome })
  }

  /** Adds the metrics of the upstream, whose values are read when they are scraped. Called once, if
   *  there is an upstream. */
  watch(facts: () => UpstreamFacts): void {
    this.#registry.registerMetric(this.#passed)
    this.#registry.registerMetric(this.#collapsed)
    this.#registry.registerMetric(this.#compared)
    this.#registry.registerMetric(this.#proofs)
    const gauge = (name: string, help: string, valueOf: (now: UpstreamFacts) => number): void => {
      const collect = function collect(this: Gauge): void {
        this.set(valueOf(facts()))
      }
      this.#registry.registerMetric(new Gauge({ name, help, registers: [], collect }))
    }
    gauge('watchglass_upstream_up', '1 while a server of the upstream answers.', now =>
      Number(now.isUp),
    )
    gauge(
      'watchglass_upstream_version_covered',
      '0 while built-in resources pass because the upstream is of another minor version.',
      now => Number(now.isVersionCovered),
    )
    gauge('watchglass_pass_through', '1 while the switch passes all reads to the upstream.', now =>
      Number(now.isSwitchedOff),
    )
    gauge(
      'watchglass_upstream_unanswered_seconds',
      'Time for which the upstream has not said its version, or what it serves: what is known of it is kept meanwhile. 0 while it does.',
      now => now.unansweredSeconds,
    )
    const keyspaces = new Gauge({
      name: 'watchglass_upstream_keyspaces',
      help: 'Keyspaces by how they compare with the upstream. Only proven ones, and shared ones, which have no objects, are answered from the mirror.',
      labelNames: ['proof'],
      registers: [],
      collect() {
        for (const [proof, count] of Object.entries(facts().storageStates)) {
          this.set({ proof }, count)
        }
      },
    })
    this.#registry.registerMetric(keyspaces)
    this.#watchQuestions(() => facts().questions)
    this.#watchEvidence(() => facts().evidence)
    const underWay = new Gauge({
      name: 'watchglass_passed_requests_in_flight',
      help: 'Passed requests that have not ended, by how long they last (short, long, upgrade).',
      labelNames: ['kind'],
      registers: [],
      collect() {
        for (const [kind, count] of Object.entries(facts().underWay)) this.set({ kind }, count)
      },
    })
    this.#registry.registerMetric(underWay)
  }

  #watchQuestions(counts: () => Readonly<Record<string, number>>): void {
    const questions = new Counter({
      name: 'watchglass_upstream_questions_total',
      help: 'Own questions to the upstream (discovery, versions, comparisons), by outcome: answered, busy (429), failed, withheld (not sent, because the upstream was busy or gone a moment ago).',
      labelNames: ['outcome'],
      registers: [],
      collect() {
        this.reset()
        for (const [outcome, count] of Object.entries(counts())) this.inc({ outcome }, count)
      },
    })
    this.#registry.registerMetric(questions)
  }

  #watchEvidence(counts: () => EvidenceCounts): void {
    const comparisons = new Counter({
      name: 'watchglass_evidence_comparisons_total',
      help: 'Answers of the upstream that were compared with what the mirror would show, by outcome.',
      labelNames: ['outcome'],
      registers: [],
      collect() {
        this.reset()
        for (const [outcome, count] of Object.entries(counts().comparisons)) {
          this.inc({ outcome }, count)
        }
      },
    })
    const bytes = new Counter({
      name: 'watchglass_evidence_bytes_total',
      help: 'Bytes of the upstream answers that were compared.',
      registers: [],
      collect() {
        this.reset()
        this.inc(counts().bytes)
      },
    })
    const forms = new Gauge({
      name: 'watchglass_evidence_forms',
      help: 'Resources in a form (JSON, protobuf, Table and so on) by the result of the comparisons. A closed form differs, and is not answered from the mirror.',
      labelNames: ['state'],
      registers: [],
      collect() {
        for (const [state, count] of Object.entries(counts().forms)) this.set({ state }, count)
      },
    })
    this.#registry.registerMetric(comparisons)
    this.#registry.registerMetric(bytes)
    this.#registry.registerMetric(forms)
  }
}
