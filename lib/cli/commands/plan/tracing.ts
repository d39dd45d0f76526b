/** Traces, where an endpoint for them is named. */

import { CacheError, type Logger, version } from '@watchglass/base'
import type { OptionValues } from '../../options/option-values.ts'
import { systemClock } from '@watchglass/cache'
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
