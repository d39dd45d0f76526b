/** /livez, /readyz and /healthz: every check by its name, with the texts of kube-apiserver. */

import type { HealthCheck } from '@watchglass/base'
import { goQuote } from '@watchglass/go'
import type { Query } from '@watchglass/kube'

/** The checks of each endpoint: a process that is not live should be restarted, one that is not
 *  ready gets no requests. */
export interface Health {
  readonly livez: readonly HealthCheck[]
  readonly readyz: readonly HealthCheck[]
  /** As /readyz where it is left out. */
  readonly healthz?: readonly HealthCheck[] | undefined
}

export interface HealthAnswer {
  readonly status: number
  readonly body: string
  /** Upstream sends no `X-Content-Type-Options` with the answer about a single check. */
  readonly isPlain: boolean
}

/** The answer at a path; undefined if there is no such endpoint or check. */
export function answerHealth(health: Health, path: string, query: Query): HealthAnswer | undefined {
  const [, endpoint = '', ...rest] = path.split('/')
  const checks = checksOf(health, endpoint)
  if (checks === undefined) return undefined
  if (rest.length > 0) {
    const name = rest.join('/')
    const check = checks.find(one => one.name === name)
    return check === undefined ? undefined : answerOne(check)
  }
  const excluded = new Set(query.all('exclude'))
  const lines: string[] = []
  let hasFailed = false
  for (const check of checks) {
    const problem = excluded.has(check.name) ? undefined : check.problem()
    if (problem !== undefined) hasFailed = true
    lines.push(lineOf(check.name, problem, excluded.has(check.name)))
  }
  for (const { name: known } of checks) excluded.delete(known)
  if (excluded.size > 0) {
    const quoted = [...excluded].sort().map(goQuote).join(',')
    lines.push(`warn: some health checks cannot be excluded: no matches for ${quoted}`)
  }
  const verdict = `${endpoint} check ${hasFailed ? 'failed' : 'passed'}`
  // Its value says nothing.
  const isShort = !hasFailed && query.first('verbose') === undefined
  const body = isShort ? 'ok' : [...lines, verdict, ''].join('\n')
  return { status: hasFailed ? 500 : 200, body, isPlain: false }
}

/** The paths of all checks, as a server that lists its paths shows them. */
export function checkPaths(health: Health): string[] {
  return ['healthz', 'livez', 'readyz'].flatMap(endpoint =>
    (checksOf(health, endpoint) ?? []).map(({ name }) => `/${endpoint}/${name}`),
  )
}

function checksOf(health: Health, endpoint: string): readonly HealthCheck[] | undefined {
  switch (endpoint) {
    case 'livez':
      return health.livez
    case 'readyz':
      return health.readyz
    case 'healthz':
      return health.healthz ?? health.readyz
    default:
      return undefined
  }
}

function answerOne(check: HealthCheck): HealthAnswer {
  const problem = check.problem()
  if (problem === undefined) return { status: 200, body: 'ok', isPlain: true }
  return { status: 500, body: `internal server error: ${problem}\n`, isPlain: false }
}

function lineOf(name: string, problem: string | undefined, isExcluded: boolean): string {
  if (isExcluded) return `[+]${name} excluded: ok`
  return problem === undefined ? `[+]${name} ok` : `[-]${name} failed: ${problem}`
}
