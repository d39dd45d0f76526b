import t from 'tap'
import { ask, caughtUp, startServed } from '../../support/http/served.ts'
import { moment } from '../../support/http/moment.ts'

t.test('the status of a quota says what is used', async t => {
  const served = await startServed(t, {
    isWritable: true,
    hasControllers: true,
    basics: { rootAuthority: 'none' },
  })
  await caughtUp(served, 1)
  const { port } = served.service
  const send = async (method: string, path: string, body?: object): Promise<number> => {
    const { status } = await ask(port, {
      method,
      path,
      headers: { 'Content-Type': 'application/json' },
      body: body && JSON.stringify(body),
    })
    return status
  }
  const used = async (): Promise<unknown> => {
    const { body } = await ask(port, { path: '/api/v1/namespaces/default/resourcequotas/q' })
    return (JSON.parse(body.toString()) as { status: { used?: unknown } }).status.used
  }
  const isUsed = (expected: object) => async (): Promise<boolean> =>
    JSON.stringify(await used()) === JSON.stringify(expected)
  const until = async (holds: () => Promise<boolean>): Promise<void> => {
    while (!(await holds())) await moment()
  }
  const configMap = (name: string): object => ({ metadata: { name } })
  const path = '/api/v1/namespaces/default/configmaps'
  t.equal(await send('POST', path, configMap('a')), 201)
  await send('POST', '/api/v1/namespaces/default/resourcequotas', {
    metadata: { name: 'q' },
    spec: { hard: { 'count/secrets': '1', configmaps: '3' } },
  })
  // With the certificates that each namespace has.
  await until(isUsed({ configmaps: '2', 'count/secrets': '0' }))
  t.equal(await send('POST', path, configMap('b')), 201)
  t.equal(await send('POST', path, configMap('c')), 403, 'there is no room')
  await send('DELETE', `${path}/b`)
  await until(isUsed({ configmaps: '2', 'count/secrets': '0' }))
  t.equal(await send('POST', path, configMap('c')), 201)
  // A use that is noted for a create that comes to nothing is put right.
  t.equal(await send('DELETE', `${path}/c`), 200)
  await until(isUsed({ configmaps: '2', 'count/secrets': '0' }))
  // Many at once: none more than there is room for.
  const names = Array.from({ length: 20 }, (_, i) => `many-${i}`)
  const answers = await Promise.all(names.map(name => send('POST', path, configMap(name))))
  t.equal(answers.filter(status => status === 201).length, 1)
  await send('DELETE', `${path}/${names[answers.indexOf(201)]}`)
  await until(isUsed({ configmaps: '2', 'count/secrets': '0' }))
  t.equal(await send('POST', path, configMap('a')), 409)
  await until(isUsed({ configmaps: '2', 'count/secrets': '0' }))
})
