/** The requests that a kube-apiserver has counted since it started, from its `/metrics`: what of
 *  its work a mirror of some resources could do. */

/** Requests by who could answer them. */
export interface CountedRequests {
  /** The time that the server has counted for; undefined if it does not say. */
  readonly seconds: number | undefined
  readonly all: number
  /** Gets, lists and watches of mirrored resources. */
  readonly mirrored: number
  /** Bytes of the answers to gets and lists, of all resources and of mirrored ones. */
  readonly bytes: number
  readonly mirroredBytes: number
  /** Open watches of mirrored resources. */
  readonly watches: number
  /** Successful writes, by resource. */
  readonly writes: ReadonlyMap<string, number>
}

const reads = new Set(['GET', 'LIST', 'WATCH', 'WATCHLIST'])
const changes = new Set(['POST', 'PUT', 'PATCH', 'APPLY', 'DELETE', 'DELETECOLLECTION'])

/** Reads the lines of some metrics. `isMirrored` is asked for names such as `deployments.apps`. */
export function countedRequests(
  text: string,
  isMirrored: (name: string) => boolean,
  nowSeconds: number,
): CountedRequests {
  const counted = { all: 0, mirrored: 0, bytes: 0, mirroredBytes: 0, watches: 0 }
  const writes = new Map<string, number>()
  let seconds: number | undefined
  for (const [, metric = '', labels = '', digits] of text.matchAll(linePattern)) {
    const value = Number(digits)
    if (!Number.isFinite(value)) continue
    if (metric === 'process_start_time_seconds') {
      seconds = Math.max(1, nowSeconds - value)
      continue
    }
    const { verb = '', group = '', resource = '', subresource = '', code = '' } = labelsIn(labels)
    const name = group === '' ? resource : `${resource}.${group}`
    const isOurs = subresource === '' && reads.has(verb) && isMirrored(name)
    if (metric === 'apiserver_request_total') {
      counted.all += value
      if (isOurs) counted.mirrored += value
      if (changes.has(verb) && code.startsWith('2') && isMirrored(name)) {
        writes.set(name, (writes.get(name) ?? 0) + value)
      }
    } else if (metric === 'apiserver_response_sizes_sum') {
      counted.bytes += value
      if (isOurs) counted.mirroredBytes += value
    } else if (isOurs) counted.watches += value
  }
  return { ...counted, seconds, writes }
}

const linePattern =
  /^(apiserver_request_total|apiserver_response_sizes_sum|apiserver_longrunning_requests|process_start_time_seconds)(?:\{([^\n]*)\})? (\S+)/gm

function labelsIn(text: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    [...text.matchAll(/(\w+)="([^"]*)"/g)].map(([, name, value]) => [name, value]),
  )
}
