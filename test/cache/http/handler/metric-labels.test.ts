import t from 'tap'
import { createRandom } from '../../../../lib/base/random.ts'
import { ask, caughtUp, startServed } from '../../../support/http/served.ts'

t.test('whatever clients send, metrics have only so many series', async t => {
  const served = await startServed(t)
  await caughtUp(served, 1)
  const { port } = served.service
  const seriesOf = async (): Promise<Set<string>> => {
    const { body } = await ask(port, { path: '/metrics' })
    const lines = body.toString().split('\n')
    return new Set(lines.flatMap(line => /^watchglass_\w+(?:\{.*\})?/.exec(line)?.[0] ?? []))
  }
  const random = createRandom(24)
  const word = (): string => Math.floor(random.next() * 1e9).toString(36)
  const oneOf = <T>(all: readonly T[]): T => all[Math.floor(random.next() * all.length)]!
  const send = async (): Promise<void> => {
    const path = oneOf([
      () => `/api/v1/namespaces/${word()}/pods/${word()}`,
      () => `/apis/${word()}/${word()}/${word()}`,
      () => `/api/v1/pods?labelSelector=${word()}%3D${word()}&limit=${word()}`,
      () => `/api/v1/${word()}?resourceVersion=${word()}`,
      () => `/${word()}`,
      () => `/api/v1/pods/${word()}/${word()}`,
    ])()
    const method = oneOf(['GET', 'POST', 'DELETE', 'PATCH', 'SEARCH', 'HEAD'])
    const headers = { 'user-agent': word(), accept: oneOf(['*/*', word(), 'text/html']) }
    await ask(port, { method, path, headers })
  }
  const sendMany = async (): Promise<void> => {
    for (let i = 0; i < 40; i++) await Promise.all([send(), send(), send(), send(), send()])
  }
  await sendMany()
  const first = await seriesOf()
  await sendMany()
  await sendMany()
  const more = [...(await seriesOf())].filter(one => !first.has(one))
  // A rare combination of verb, resource and code may come late; a text of a client would make
  // hundreds.
  t.ok(more.length < 60, `${more.length} series more: ${more.slice(0, 5).join(' ')}`)
})
