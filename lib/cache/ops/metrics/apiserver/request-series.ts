/** Requests under the names of kube-apiserver. One look-up finds the series of all families at
 *  once; what can be derived, such as the distribution without dry runs, is derived when it is
 *  shown. */

import { type Buckets, seriesMax } from '../../tally.ts'
import { codeLabel } from '../code-label.ts'
import { bucketsOf, familyText, type Series } from './exposition.ts'
import { InFlight } from './in-flight.ts'

/** The labels of a request. */
export interface RequestLabels {
  readonly verb: string
  readonly dryRun: string
  readonly group: string
  readonly version: string
  readonly resource: string
  readonly subresource: string
  readonly scope: string
  readonly component: string
  readonly kind: string
}

/** An answer that has ended. */
export interface AnswerFigures {
  readonly code: number
  readonly tookMs: number
  /** Bytes of its body. */
  readonly bytes: number
}

interface RequestSeries {
  readonly labels: RequestLabels
  readonly codes: Map<string, number>
  readonly seconds: Buckets
  /** Undefined for anything but gets and lists, and watches, which kube-apiserver measures as the
   *  lists at whose routes they are. */
  readonly sizes: Buckets | undefined
  open: number
}

const sized: ReadonlySet<string> = new Set(['GET', 'LIST', 'WATCH'])

/** Verbs of requests that last as long as their client likes, which is no level of service. */
const lasting: ReadonlySet<string> = new Set(['WATCH', 'CONNECT'])

export class RequestSeriesTable {
  /** By the name of the resource: the few that it has are compared in turn, which takes a quarter
   *  of the time of a key made of all labels. */
  readonly #series = new Map<string, RequestSeries[]>()
  #size = 0
  /** Requests that do not last, while they are under way. */
  readonly inFlight: InFlight

  constructor(monotonicMs: () => number) {
    this.inFlight = new InFlight(monotonicMs)
  }

  /** A request has ended. */
  answered(labels: RequestLabels, { code, tookMs, bytes }: AnswerFigures): void {
    const { codes, seconds, sizes } = this.#of(labels)
    const label = codeLabel(code)
    codes.set(label, (codes.get(label) ?? 0) + 1)
    seconds.observe(tookMs / 1000)
    sizes?.observe(bytes)
  }

  /** A watch has begun, which is answered when it has ended. */
  opened(labels: RequestLabels): void {
    this.#of(labels).open++
  }

  closed(labels: RequestLabels): void {
    this.#of(labels).open--
  }

  text(): string {
    const all = [...this.#series.values()].flat()
    const each = (make: (one: RequestSeries) => Series[]): Series[] => all.flatMap(make)
    const watched = all.filter(one => one.labels.verb === 'WATCH')
    return [
      familyText(
        'apiserver_request_total',
        each(({ labels, codes }) =>
          [...codes].map(([code, count]) => [[...withDryRun(labels), code], count]),
        ),
      ),
      familyText(
        'apiserver_request_duration_seconds',
        each(({ labels, seconds }) => (isEmpty(seconds) ? [] : [[withDryRun(labels), seconds]])),
      ),
      familyText(
        'apiserver_request_sli_duration_seconds',
        each(({ labels, seconds }) =>
          labels.dryRun !== '' || lasting.has(labels.verb) || isEmpty(seconds)
            ? []
            : [[withoutDryRun(labels), coarse(seconds)]],
        ),
      ),
      familyText(
        'apiserver_response_sizes',
        each(({ labels, sizes }) =>
          sizes === undefined || isEmpty(sizes) ? [] : [[withoutDryRun(labels), sizes]],
        ),
      ),
      familyText(
        'apiserver_longrunning_requests',
        watched.map(({ labels, open }) => [withoutDryRun(labels), open]),
      ),
      familyText(
        'apiserver_registered_watchers',
        watched.map(({ labels: { group, version, kind }, open }) => [[group, version, kind], open]),
      ),
      familyText('apiserver_current_inflight_requests', this.inFlight.most()),
    ].join('\n')
  }

  #of(labels: RequestLabels): RequestSeries {
    const { verb, resource } = labels
    const siblings = this.#series.get(resource) ?? []
    for (const one of siblings) if (areEqual(one.labels, labels)) return one
    if (this.#size >= seriesMax && labels !== others) return this.#of(others)
    const made: RequestSeries = {
      labels,
      codes: new Map(),
      seconds: bucketsOf('apiserver_request_duration_seconds'),
      sizes: sized.has(verb) ? bucketsOf('apiserver_response_sizes') : undefined,
      open: 0,
    }
    siblings.push(made)
    this.#series.set(resource, siblings)
    this.#size++
    return made
  }
}

function areEqual(some: RequestLabels, other: RequestLabels): boolean {
  return (
    some.verb === other.verb &&
    some.scope === other.scope &&
    some.subresource === other.subresource &&
    some.group === other.group &&
    some.version === other.version &&
    some.dryRun === other.dryRun &&
    some.component === other.component
  )
}

/** Labels of what would be one series more. */
const others: RequestLabels = {
  verb: 'other',
  dryRun: '',
  group: 'other',
  version: 'other',
  resource: 'other',
  subresource: 'other',
  scope: 'other',
  component: 'other',
  kind: 'other',
}

function withDryRun(labels: RequestLabels): readonly string[] {
  const [verb = '', ...rest] = withoutDryRun(labels)
  return [verb, labels.dryRun, ...rest]
}

function withoutDryRun(labels: RequestLabels): readonly string[] {
  const { verb, group, version, resource, subresource, scope, component } = labels
  return [verb, group, version, resource, subresource, scope, component]
}

function isEmpty(buckets: Buckets): boolean {
  return buckets.count === 0
}

/** Observations in the buckets that begin at 50 ms: the finer ones are one there. */
function coarse({ counts, sum }: Buckets): Buckets {
  const buckets = bucketsOf('apiserver_request_sli_duration_seconds')
  const finer = counts.length - buckets.counts.length
  for (const [i, count] of counts.entries()) buckets.counts[Math.max(0, i - finer)]! += count
  buckets.sum = sum
  return buckets
}
