/** Asks a server of the upstream for its version, and what we may list there: a resource that we may not list passes. */

import { CacheError } from '../../base/errors.ts'
import { silentLogger } from '../../base/logger.ts'
import { upstreamFrom } from '../plan/upstream.ts'
import type { OptionValues } from '../../config/option-values.ts'
import type { CheckList, Finding } from './check-list.ts'

export interface UpstreamCheck {
  readonly url: string
  readonly signal: AbortSignal
}

type Ask = (path: string, body?: object) => Promise<unknown>

export async function checkUpstream(
  list: CheckList,
  values: OptionValues,
  { url, signal }: UpstreamCheck,
): Promise<void> {
  const servers = serversAt(values, url)
  // What is wrong with the options was said with them.
  if (servers === undefined) return
  const ask: Ask = async (path, body) => {
    const call = servers.call(
      {
        method: body === undefined ? 'GET' : 'POST',
        path,
        headers: { accept, 'content-type': 'application/json' },
        body: body && Buffer.from(JSON.stringify(body)),
        maxBytes: 16 * 1024 * 1024,
        signal,
      },
      'ourselves',
    )
    const { code, body: answer } = await call.catch((error: unknown) => {
      throw explained(error)
    })
    const text = Buffer.from(answer).toString()
    if (code >= 300) {
      const hint = code === 401 ? ': it does not know our token or certificate' : ''
      throw new CacheError('upstream_failed', `${path} is answered with ${code}${hint}`)
    }
    return JSON.parse(text)
  }
  try {
    const answers = await list.try(`upstream ${url}`, async () => {
      const { gitVersion } = (await ask('/version')) as { readonly gitVersion?: string }
      return gitVersion ?? ''
    })
    if (answers) await list.try(`upstream ${url}: what we may list`, () => mayList(ask))
  } finally {
    await servers.stop()
  }
}

const accept =
  'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json'

/** The failure, with what it came from and what to look at. */
function explained(error: unknown): CacheError {
  const { message, cause } = CacheError.from(error, 'upstream_failed')
  if (!(cause instanceof Error) || cause.message === '') {
    return new CacheError('upstream_failed', message, { cause: error })
  }
  const hint = /certificate/.test(cause.message)
    ? ': --upstream-ca has not the authority of its certificate'
    : /wrong version number|packet length too long/.test(cause.message)
      ? ': is its address http://?'
      : ''
  const reason = cause.message.replace(/^.*:SSL routines:[^:]*:([^:]+):.*$/s, '$1')
  return new CacheError('upstream_failed', `${message}: ${reason}${hint}`, { cause: error })
}

function serversAt(values: OptionValues, url: string) {
  try {
    return upstreamFrom(values.with('upstream', [url]), silentLogger)?.servers
  } catch {
    return undefined
  }
}

interface Discovered {
  readonly items?: readonly {
    readonly metadata?: { readonly name?: string }
    readonly versions?: readonly {
      readonly resources?: readonly {
        readonly resource?: string
        readonly verbs?: readonly string[]
      }[]
    }[]
  }[]
}

const refusedShown = 10

/** Asks the server itself, for each resource that can be listed and watched. */
async function mayList(ask: Ask): Promise<Finding> {
  const names = new Set<string>()
  for (const path of ['/api', '/apis']) {
    const { items = [] } = (await ask(path)) as Discovered
    for (const { metadata, versions = [] } of items) {
      for (const { resource, verbs = [] } of versions.flatMap(one => one.resources ?? [])) {
        const isMirrored = verbs.includes('list') && verbs.includes('watch')
        if (resource !== undefined && isMirrored) names.add(`${resource}.${metadata?.name ?? ''}`)
      }
    }
  }
  const refused: string[] = []
  let answered = 0
  for (const name of names) {
    const [resource = '', ...group] = name.split('.')
    const resourceAttributes = { verb: 'list', group: group.join('.'), resource }
    const review = await ask('/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectAccessReview',
      spec: { resourceAttributes },
    }).catch((error: unknown) => {
      // Whoever cannot answer the first question cannot answer the others.
      if (answered === 0) throw error
      return {}
    })
    answered++
    const { status } = review as { readonly status?: { readonly allowed?: boolean } }
    if (status?.allowed !== true) refused.push(name.replace(/\.$/, ''))
  }
  const text = `${names.size - refused.length} of ${names.size} resources`
  if (refused.length === 0) return text
  const shown = refused.slice(0, refusedShown).join(', ')
  const more = refused.length > refusedShown ? ` and ${refused.length - refusedShown} more` : ''
  return { warning: `${text}; these pass always: ${shown}${more}` }
}
