/** The trace that a request belongs to, by W3C Trace Context: `traceparent: 00-<trace id>-<parent
 *  id>-<flags>`. The header itself passes to the upstream as it came; our log lines and audit
 *  events name the trace, so that they are found beside its spans. */

import type { IncomingHttpHeaders } from 'node:http'

/** The trace id: 32 hexadecimal digits. Undefined without a valid header. */
export function traceIdOf({ traceparent }: IncomingHttpHeaders): string | undefined {
  if (typeof traceparent !== 'string') return undefined
  const [, version, trace, parent, rest = ''] =
    /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$/.exec(traceparent) ?? []
  if (trace === undefined || /^0+$/.test(trace) || /^0+$/.test(parent ?? '')) return undefined
  // Later versions may append more; ff is none.
  if (version === 'ff' || (version === '00' && rest !== '')) return undefined
  return trace
}
