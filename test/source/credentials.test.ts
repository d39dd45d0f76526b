/** Credentials that change while an API is mirrored: tokens of service accounts last an hour. */

import t from 'tap'
import { json } from '../support/upstream/answers.ts'
import { ask } from '../support/http/served.ts'
import { moment } from '../support/http/moment.ts'
import { configMap, originOf, startFront, startProxied } from '../support/upstream/proxied.ts'

const maps = '/api/v1/namespaces/default/configmaps'

t.test(
  'a token that is replaced is shown from then on, by watches that begin anew, too',
  async t => {
    const { upstream } = await startProxied(t, { objects: [[maps, configMap('a', '1')]] })
    let token = 'one'
    const watching = new Set<string>()
    let refused = 0
    upstream.before = ({ headers, url }) => {
      const { authorization = '' } = headers
      if (authorization === 'Bearer reader') return undefined
      if (url.includes('watch=1')) watching.add(authorization)
      if (authorization === `Bearer ${token}`) return undefined
      refused++
      return json({ code: 401 }, 401)
    }
    let held = token
    const service = await startFront(undefined, upstream, {
      token: () => Promise.resolve(held),
      service: { source: { isWantedAtStart: () => true } },
    })
    t.teardown(() => service.stop())
    const reader = { authorization: 'Bearer reader' }
    const read = async (): Promise<{ readonly origin: string; readonly body: string }> => {
      const path = `${maps}?resourceVersion=0`
      const answer = await ask(service.port, { path, headers: reader })
      return { origin: originOf(answer), body: answer.body.toString() }
    }
    while (!(await read()).origin.startsWith('mirror')) await moment()
    token = 'two'
    upstream.cut()
    while (refused < 3) await moment()
    t.match((await read()).origin, /^mirror/, 'what is held is served meanwhile')
    held = token
    await upstream.create(maps, configMap('b', '2'))
    while (!(await read()).body.includes('"name":"b"')) await moment()
    t.match((await read()).origin, /^mirror/)
    t.ok(watching.has('Bearer two'))
  },
)
