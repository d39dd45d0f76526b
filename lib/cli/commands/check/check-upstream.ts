/** Asks a server of the upstream for its version, and what we may read there: a resource that we
 *  may not list passes. */

import { CacheError, silentLogger } from '@watchglass/base'
import { load } from '../../compose/loaded-code.ts'
import { basisOf, recordedRange } from '@watchglass/codec'
import { upstreamFrom } from '../plan/upstream.ts'
import type { OptionValues } from '../../options/option-values.ts'
import type { UpstreamOptions } from '@watchglass/proxy'
import type { CheckList, Finding } from './check-list.ts'

export interface UpstreamCheck {
  readonly url: string
  readonly signal: AbortSignal
}

interface Answer {
  readonly path: string
  readonly code: number
  readonly text: string
}

type Ask = (path: string) => Promise<Answer>

export async function checkUpstream(
  list: CheckList,
  values: OptionValues,
  { url, signal }: UpstreamCheck,
): Promise<void> {
  const servers = await serversAt(values, url)
  // What is wrong with the options was said with them.
  if (servers === undefined) return
  const { reasonFor } = await load.upstreamFailure()
  const ask: Ask = async path => {
    const call = servers.call(
      { method: 'GET', path, headers: { accept }, maxBytes: 16 * 1024 * 1024, signal },
      'ourselves',
    )
    const { code, body } = await call.catch((error: unknown) => {
      throw new CacheError('upstream_failed', reasonFor(error), { cause: error })
    })
    return { path, code, text: Buffer.from(body).toString() }
  }
  try {
    const answers = await list.try(`upstream ${url}`, async () => {
      const document = documentIn(await ask('/version')) as { readonly gitVersion?: string }
      const { gitVersion = '' } = document
      // The version of an aggregated server is its own.
      return (await ask('/api')).code === 404 ? gitVersion : aboutVersion(gitVersion)
    })
    if (answers) await list.try(`upstream ${url}: what we may get and list`, () => mayRead(ask))
  } finally {
    await servers.stop()
  }
}

/** The version, and what answers for it rest on. */
function aboutVersion(version: string): Finding {
  switch (basisOf(version)) {
    case 'recorded':
      return `${version}: there are recordings of its minor, and it is compared as it runs`
    case 'derived':
      return `${version}: it is compared as it runs; there are recordings of ${recordedRange()} only`
    case 'none':
      return {
        warning: `${version}: no data about this minor version: what depends on it passes, unless --compatible-with names it`,
      }
  }
}

function documentIn({ path, code, text }: Answer): unknown {
  if (code < 300) return JSON.parse(text)
  const hint = code === 401 ? ': it does not know our token or certificate' : ''
  throw new CacheError('upstream_failed', `${path} is answered with ${code}${hint}`)
}

const accept =
  'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json'

async function serversAt(
  values: OptionValues,
  url: string,
): Promise<UpstreamOptions['servers'] | undefined> {
  try {
    return (await upstreamFrom(values.with('upstream', [url]), silentLogger, false))?.servers
  } catch {
    return undefined
  }
}

interface Discovered {
  readonly items?: readonly {
    readonly metadata?: { readonly name?: string }
    readonly versions?: readonly {
      readonly version?: string
      readonly resources?: readonly {
        readonly resource?: string
        readonly verbs?: readonly string[]
      }[]
    }[]
  }[]
}

const refusedShown = 10

/** Asks for one object of each resource that can be listed and watched, and for one by name, as
 *  comparisons do. An aggregated server need not know of access reviews. */
async function mayRead(ask: Ask): Promise<Finding> {
  const paths = new Map<string, string>()
  for (const root of ['/api', '/apis']) {
    const answer = await ask(root)
    // An aggregated server has no core group.
    if (root === '/api' && answer.code === 404) continue
    for (const [name, path] of listedIn(root, documentIn(answer) as Discovered)) {
      if (!paths.has(name)) paths.set(name, path)
    }
  }
  const refused: string[] = []
  const withoutGet: string[] = []
  for (const [name, path] of paths) {
    const answer = await ask(`${path}?limit=1`)
    if (answer.code === 401) documentIn(answer)
    if (answer.code >= 300) refused.push(name)
    else if ((await ask(`${path}/${nobody}`)).code === 403) withoutGet.push(name)
  }
  const text = `${paths.size - refused.length} of ${paths.size} resources`
  if (refused.length + withoutGet.length === 0) return text
  const parts = [text]
  if (refused.length > 0) parts.push(`these pass always: ${shown(refused)}`)
  if (withoutGet.length > 0) {
    parts.push(`gets of these pass always, as we may list and not get them: ${shown(withoutGet)}`)
  }
  return { warning: parts.join('; ') }
}

/** A name that no object has: whoever may get it is told that there is none. */
const nobody = 'asked-for-no-object'

function shown(names: readonly string[]): string {
  const more = names.length > refusedShown ? ` and ${names.length - refusedShown} more` : ''
  return `${names.slice(0, refusedShown).join(', ')}${more}`
}

/** The resources of a discovery document that can be mirrored, and where they are listed. */
function* listedIn(root: string, { items = [] }: Discovered): Generator<[string, string]> {
  for (const { metadata, versions = [] } of items) {
    const group = metadata?.name ?? ''
    for (const { version = '', resources = [] } of versions) {
      for (const { resource = '', verbs = [] } of resources) {
        if (!verbs.includes('list') || !verbs.includes('watch')) continue
        const folder = group === '' ? `${root}/${version}` : `${root}/${group}/${version}`
        yield [group === '' ? resource : `${resource}.${group}`, `${folder}/${resource}`]
      }
    }
  }
}
