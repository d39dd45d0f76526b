import t from 'tap'
import type { Resource } from '../../../lib/kube/resources/resource.ts'
import { UpstreamState } from '../../../lib/proxy/knowledge/upstream-state.ts'
import type { UpstreamAnswer } from '../../../lib/cache/http/auth/upstream-calls.ts'

const { signal } = new AbortController()
const resourceOf = (group: string): Resource =>
  ({ group, version: 'v1', resource: 'things' }) as Resource

/** An upstream with these documents; everything else is refused. */
function stateOf(documents: Record<string, string>): UpstreamState {
  return new UpstreamState({
    call: async ({ path }): Promise<UpstreamAnswer> => {
      const body = documents[path]
      return { code: body === undefined ? 403 : 200, headers: {}, body: Buffer.from(body ?? '') }
    },
  })
}

const metrics = (gate: number, other = 0): string =>
  `process_open_fds ${other}\nkubernetes_feature_enabled{name="A",stage="BETA"} ${gate}\n`
const openApi = (batch: string): string =>
  JSON.stringify({
    paths: {
      'api/v1': { serverRelativeURL: '/openapi/v3/api/v1?hash=1' },
      'apis/batch/v1': { serverRelativeURL: `/openapi/v3/apis/batch/v1?hash=${batch}` },
    },
  })

t.test('a feature gate changes the state of every resource, another metric of none', async t => {
  const documents = { '/metrics': metrics(0) }
  const state = stateOf(documents)
  const pods = (): string => state.stateOf(resourceOf(''))
  const unread = pods()
  await state.readGates(signal)
  const off = pods()
  t.not(off, unread)
  documents['/metrics'] = metrics(0, 7)
  await state.readGates(signal)
  t.equal(pods(), off)
  documents['/metrics'] = metrics(1, 7)
  await state.readGates(signal)
  t.not(pods(), off)
  t.ok(pods().length < 200, 'it is compared often, for each resource')
})

t.test('a hash of OpenAPI changes the state of its group version only', async t => {
  const documents = { '/openapi/v3': openApi('1') }
  const state = stateOf(documents)
  await state.readOpenApi(signal)
  const [pods, jobs] = [state.stateOf(resourceOf('')), state.stateOf(resourceOf('batch'))]
  documents['/openapi/v3'] = openApi('2')
  await state.readOpenApi(signal)
  t.equal(state.stateOf(resourceOf('')), pods)
  t.not(state.stateOf(resourceOf('batch')), jobs)
})

t.test('what may not be read is left out', async t => {
  const state = stateOf({})
  const before = state.stateOf(resourceOf(''))
  await state.readGates(signal)
  await state.readOpenApi(signal)
  t.equal(state.stateOf(resourceOf('')), before)
})
