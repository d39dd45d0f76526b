/** Which state a read is answered from: resourceVersion, resourceVersionMatch, limit and continue
 *  in all combinations, at known steps of a collection. */

import { table } from '../media-types.ts'
import type { Question, Recorder } from '../recorder.ts'
import { askAll, events, matrix, type Part, widgets, withQuery } from './part.ts'

const matches = [undefined, 'Exact', 'NotOlderThan'] as const

export const revisions: Part = {
  name: 'revisions',
  what: 'resourceVersion, resourceVersionMatch and limit in all combinations',
  async ask(recorder) {
    const values = [
      undefined,
      '',
      '0',
      '{before}',
      '{updated}',
      '{now}',
      '{future}',
      'abc',
      '-1',
      '00',
    ]
    await askMatrix(recorder, 'rv-matrix', matrix, values)
    await askMatrix(recorder, 'rv-matrix-cr', widgets, [undefined, '0', '{before}', '{now}'])
    await askMatrix(recorder, 'rv-matrix-events', events, [undefined, '0', '{before}', '{now}'])
    const exact = ['{created}', '{updated}', '{deleted}', '{reborn}', '{end}'].map(
      resourceVersion => withQuery(matrix, { resourceVersion, resourceVersionMatch: 'Exact' }),
    )
    await askAll(recorder, 'exact', exact)
    const old = { resourceVersion: '{updated}', resourceVersionMatch: 'Exact' }
    await askAll(recorder, 'exact', [withQuery(matrix, { ...old, labelSelector: 'v=1' })])
    await askAll(recorder, 'exact', [withQuery(matrix, old)], { accept: table })
    const one = `${matrix}/m-a`
    const gets = ['', '0', '{created}', '{now}', '{future}', 'abc', '-1', '00']
    await askAll(
      recorder,
      'get',
      gets.map(resourceVersion => withQuery(one, { resourceVersion })),
    )
  },
}

async function askMatrix(
  recorder: Recorder,
  area: string,
  path: string,
  values: readonly (string | undefined)[],
): Promise<void> {
  const paths = values.flatMap(resourceVersion =>
    matches.flatMap(resourceVersionMatch =>
      [undefined, '3'].map(limit =>
        withQuery(path, { resourceVersion, resourceVersionMatch, limit }),
      ),
    ),
  )
  // Each of those that wait takes three seconds.
  const waits = (path: string): boolean => path.includes('{future}')
  for (const path of paths.filter(path => !waits(path))) await recorder.ask({ area, path })
  await Promise.all(paths.filter(waits).map(path => recorder.ask({ area, path })))
}

export const chunks: Part = {
  name: 'chunks',
  what: 'lists in pages, and continue tokens that are wrong',
  async ask(recorder) {
    const area = 'chunking'
    await askChain(recorder, 'matrix', { area, path: matrix }, [2])
    await askChain(recorder, 'growing pages', { area, path: matrix }, [1, 3, undefined])
    const selected = withQuery(matrix, { labelSelector: 'v=1' })
    await askChain(recorder, 'selected', { area, path: selected }, [2])
    await askChain(recorder, 'a Table', { area, path: widgets, accept: table }, [3])
    const old = withQuery(matrix, { resourceVersion: '{updated}', resourceVersionMatch: 'Exact' })
    await askChain(recorder, 'old', { area, path: old }, [2])
    await askChain(recorder, 'pods', { area, path: '/api/v1/pods' }, [25])
    await askChain(recorder, 'events', { area, path: events }, [3])
    for (const token of brokenTokens(recorder.marks['end'] ?? 1)) {
      const path = withQuery(matrix, { limit: '2', continue: token })
      await recorder.ask({ area: 'continue-errors', path })
    }
    const good = tokenOf({ v: 'meta.k8s.io/v1', rv: recorder.marks['end'], start: 'm-b\0' })
    for (const more of [
      { resourceVersion: '0' },
      { resourceVersion: '{end}' },
      { resourceVersionMatch: 'Exact' },
      { resourceVersion: '{end}', resourceVersionMatch: 'NotOlderThan' },
    ]) {
      const path = withQuery(matrix, { limit: '2', continue: good, ...more })
      await recorder.ask({ area: 'continue-errors', path })
    }
  },
}

/** All pages of a list; `limits` are of the first, the second and so on, the last of all others. */
async function askChain(
  recorder: Recorder,
  chain: string,
  question: Question,
  limits: readonly (number | undefined)[],
): Promise<void> {
  let token: string | undefined
  for (let i = 0; i < 20; i++) {
    const limit = limits[Math.min(i, limits.length - 1)]
    // A token says at which revision it goes on.
    const base =
      token === undefined ? question.path : question.path.replace(/resourceVersion\w*=[^&]*&?/g, '')
    const path = withQuery(base.replace(/[?&]$/, ''), {
      limit: limit === undefined ? undefined : String(limit),
      continue: token,
    })
    const description = `${chain}, page ${i + 1}`
    const { object } = await recorder.ask({ ...question, path, chain, description })
    token = object?.metadata?.continue
    if (token === undefined || token === '') return
  }
}

function tokenOf(content: object): string {
  return Buffer.from(JSON.stringify(content)).toString('base64url')
}

function brokenTokens(revision: number): string[] {
  const v = 'meta.k8s.io/v1'
  return [
    tokenOf({ v, rv: revision, start: 'm-b\0' }),
    tokenOf({ v, rv: revision, start: '/m-b\0' }),
    tokenOf({ v, rv: revision, start: '' }),
    tokenOf({ v, rv: revision, start: '../other' }),
    tokenOf({ v, rv: revision, start: 'a//b' }),
    tokenOf({ v, rv: revision }),
    tokenOf({ v, rv: 0, start: 'm-b\0' }),
    tokenOf({ v, rv: -1, start: 'm-b\0' }),
    tokenOf({ v, rv: -2, start: 'm-b\0' }),
    tokenOf({ v, rv: 'x', start: 'm-b\0' }),
    tokenOf({ v: 'meta.k8s.io/v2', rv: revision, start: 'm-b\0' }),
    tokenOf([1]),
    Buffer.from('no JSON').toString('base64url'),
    'not base64!',
    'abc',
  ]
}

/** Asked last: nothing before this revision can be asked for afterwards. */
export const compaction: Part = {
  name: 'compaction',
  what: 'reads and watches of revisions that etcd has compacted',
  async ask(recorder) {
    const area = 'compaction'
    const old = withQuery(matrix, { limit: '2' })
    const { object } = await recorder.tell('GET', old)
    // A write between the token and the compaction makes the token's revision an old one.
    await recorder.tell('POST', matrix, { metadata: { name: 'before-compaction' } })
    await recorder.compact()
    const created = { resourceVersion: '{created}', resourceVersionMatch: 'Exact' }
    await noticed(recorder, withQuery(matrix, created))
    await askAll(recorder, area, [
      withQuery(matrix, created),
      withQuery(matrix, { ...created, limit: '2' }),
      withQuery(matrix, { resourceVersion: '{created}' }),
      withQuery(matrix, { resourceVersion: '{compacted}', resourceVersionMatch: 'Exact' }),
      withQuery(old, { continue: object?.metadata?.continue }),
    ])
    const expired = withQuery(events, {
      watch: '1',
      resourceVersion: '{created}',
      timeoutSeconds: '1',
    })
    await recorder.watch([{ area: 'watch-expired', path: expired }])
  },
}

/** kube-apiserver looks for compactions from time to time, and answers from its snapshots until
 *  then. */
async function noticed(recorder: Recorder, path: string): Promise<void> {
  const at = path.replace('{created}', String(recorder.marks['created']))
  for (let looks = 0; looks < 240; looks++) {
    if ((await recorder.tell('GET', at)).status === 410) return
    await new Promise(resolve => setTimeout(resolve, 500))
  }
  recorder.setupErrors.push('the server has not noticed the compaction')
}
