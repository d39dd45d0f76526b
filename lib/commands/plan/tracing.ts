/** Traces, where an endpoint for them is named. */

import { CacheError } from '../../base/errors.ts'
import type { Logger } from '../../base/logger.ts'
import type { OptionValues } from '../../config/option-values.ts'
import { version } from '../../base/version.ts'
import { systemClock } from '../../ops/system.ts'
import type { Tracing } from './open-telemetry.ts'

/** The code of tracing is loaded only here. */
export async function tracingOf(
  values: OptionValues,
  logger: Logger,
): Promise<Tracing | undefined> {
  const endpoint = endpointOf(values)
  if (endpoint === undefined) return undefined
  const { startTracing } = await import('./open-telemetry.ts')
  return startTracing({ endpoint, version, clock: systemClock, logger })
}

export function endpointOf(values: OptionValues): URL | undefined {
  const text = values.text('otlp-endpoint')
  if (text === undefined) return undefined
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url
  throw new CacheError(
    'invalid_request',
    `--otlp-endpoint is the address of a collector, such as http://127.0.0.1:4318, not ${text}`,
  )
}
