/** Asks a server of the upstream for its version, and what we may read there: a resource that we
 *  may not list passes. */

import { silentLogger } from '@watchglass/base'
import { basisOf, recordedRange } from '@watchglass/codec'
import { isUpstreamMirrored } from '../../options/etcd.ts'
import { upstreamFrom } from '../plan/upstream.ts'
import type { OptionValues } from '../../options/option-values.ts'
import type { UpstreamOptions } from '@watchglass/proxy'
import type { CheckList, Finding } from './check-list.ts'
import { shownNames } from './shown-names.ts'
import { checkSource } from './upstream/check-source.ts'
import { discoveredResources, listPath } from './upstream/discovered-resources.ts'
import { documentIn, UpstreamQuestions } from './upstream/upstream-questions.ts'

export interface UpstreamCheck {
  readonly url: string
  /** The time for an answer. */
  readonly maxMs: number
  /** The prefix of etcd, if no namespaces lie below it. */
  readonly emptyPrefix: string | undefined
  readonly signal: AbortSignal
}

export async function checkUpstream(
  list: CheckList,
  values: OptionValues,
  { url, maxMs, emptyPrefix, signal }: UpstreamCheck,
): Promise<void> {
  const servers = await serversAt(values, url)
  // What is wrong with the options was said with them.
  if (servers === undefined) return
  const questions = new UpstreamQuestions(servers, { maxMs, signal })
  let isAggregated = false
  try {
    const answers = await list.try(`upstream ${url}`, async () => {
      const document = documentIn(await questions.get('/version')) as {
        readonly gitVersion?: string
      }
      const { gitVersion = '' } = document
      // The version of an aggregated server is its own.
      isAggregated = (await questions.get('/api')).code === 404
      return isAggregated ? gitVersion : aboutVersion(gitVersion)
    })
    if (!answers) return
    if (emptyPrefix !== undefined && !isAggregated) {
      await list.try(`--prefix ${emptyPrefix}`, () => ({
        warning: `no namespaces below it: not where an API server stores its cluster, which is /registry unless its --etcd-prefix says otherwise; most reads pass`,
      }))
    }
    if (isUpstreamMirrored.holds(values)) await checkSource(list, values, { url, questions })
    else await list.try(`upstream ${url}: what we may get and list`, () => mayRead(questions))
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

async function serversAt(
  values: OptionValues,
  url: string,
): Promise<UpstreamOptions['servers'] | undefined> {
  try {
    return (await upstreamFrom(values.with('upstream', [url]), silentLogger, asOurselves))?.servers
  } catch {
    return undefined
  }
}

const asOurselves = { isFrontProxy: false, user: undefined }

/** Asks for one object of each resource that can be listed and watched, and for one by name, as
 *  comparisons do. An aggregated server need not know of access reviews. */
async function mayRead(questions: UpstreamQuestions): Promise<Finding> {
  const resources = await discoveredResources(questions)
  const refused: string[] = []
  const withoutGet: string[] = []
  for (const resource of resources) {
    const { name } = resource
    const path = listPath(resource)
    const answer = await questions.get(`${path}?limit=1`)
    if (answer.code === 401) documentIn(answer)
    if (answer.code >= 300) refused.push(name)
    else if ((await questions.get(`${path}/${nobody}`)).code === 403) withoutGet.push(name)
  }
  const text = `${resources.length - refused.length} of ${resources.length} resources`
  if (refused.length + withoutGet.length === 0) return text
  const parts = [text]
  if (refused.length > 0) parts.push(`these pass always: ${shownNames(refused)}`)
  if (withoutGet.length > 0) {
    parts.push(
      `gets of these pass always, as we may list and not get them: ${shownNames(withoutGet)}`,
    )
  }
  return { warning: parts.join('; ') }
}

/** A name that no object has: whoever may get it is told that there is none. */
const nobody = 'asked-for-no-object'
