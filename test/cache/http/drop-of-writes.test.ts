import t from 'tap'
import { ask, startServed } from '../../support/http/served.ts'

t.test('answers to writes are without managed fields, and what is stored keeps them', async t => {
  const { service } = await startServed(t, { isWritable: true, hasDrop: true })
  const folder = '/api/v1/namespaces/a/configmaps'
  const json = { 'Content-Type': 'application/json' }
  const accept = { Accept: 'application/json;drop=metadata.managedFields' }
  const request = async (method: string, path: string, body?: object, headers = {}) => {
    const sent = body === undefined ? undefined : JSON.stringify(body)
    const length = sent === undefined ? {} : { 'Content-Length': Buffer.byteLength(sent) }
    const all = { ...json, ...accept, ...length, ...headers }
    const answer = await ask(service.port, { method, path, headers: all, body: sent })
    return `${answer.status} ${answer.body.toString()}`
  }
  const named = { metadata: { name: 'one' }, data: { a: '1' } }
  const merge = { 'Content-Type': 'application/merge-patch+json' }
  const space = { metadata: { name: 'a' } }
  const answers = [
    await request('POST', '/api/v1/namespaces', space),
    await request('POST', folder, named),
    await request('PATCH', `${folder}/one`, { data: { b: '2' } }, merge),
    await request('PUT', `${folder}/one`, { ...named, data: { c: '3' } }),
    await request('GET', `${folder}/one`),
  ]
  for (const answer of answers) {
    t.match(answer, /^20[01] \{"kind":"/)
    t.notMatch(answer, 'managedFields')
  }
  t.match(await request('GET', `${folder}/one`, undefined, { Accept: '*/*' }), 'managedFields')
  const deleted = await request('DELETE', folder)
  t.match(deleted, /^200 \{"kind":"ConfigMapList".*"c":"3"/)
  t.notMatch(deleted, 'managedFields')
})
