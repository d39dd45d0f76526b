/** A custom resource that is called as namespaces are does not open other namespaces to whoever
 *  may read one. */

import t from 'tap'
import { identity } from '../support/upstream/reviews.ts'
import type { Binding } from '../support/upstream/rules.ts'
import { admin, startDoor } from '../support/attacks/door.ts'
import { ask, versions } from '../support/attacks/ask.ts'

const group = 'eventhub.azure.com'
const path = `/apis/${group}/v1/namespaces`
const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `namespaces.${group}` },
  spec: {
    group,
    names: { plural: 'namespaces', kind: 'Namespace' },
    scope: 'Namespaced',
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        deprecated: true,
        deprecationWarning: 'veraltet – nimm “v2”, 今すぐ',
        schema: {
          openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
        },
      },
    ],
  },
  status: {
    acceptedNames: { plural: 'namespaces', kind: 'Namespace' },
    conditions: ['NamesAccepted', 'Established'].map(type => ({ type, status: 'True' })),
  },
}
const object = {
  apiVersion: `${group}/v1`,
  kind: 'Namespace',
  metadata: { name: 'readable' },
  secret: 'hidden',
}
const alice: Binding = {
  subjects: ['alice'],
  namespace: 'readable',
  rules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }],
}

t.test('an object named as a namespace is not read as if it lay there', async t => {
  const door = await startDoor(t, {
    mirrorsAll: true,
    users: [['alice', identity('alice')]],
    bindings: [alice],
    objects: [['/apis/apiextensions.k8s.io/v1/customresourcedefinitions', definition]],
  })
  const made = await ask(door, '1.1', {
    method: 'POST',
    path: `${path}/hidden/namespaces`,
    headers: { ...admin, 'content-type': 'application/json' },
    body: JSON.stringify(object),
  })
  t.equal(made.status, 201)
  for (const version of versions) {
    const get = (headers: Record<string, string>) =>
      ask(door, version, { path: `${path}/hidden/namespaces/readable`, headers })
    let allowed = await get(admin)
    for (let i = 0; i < 200 && !String(allowed.headers['x-watchglass']).startsWith('mirror'); i++) {
      await new Promise(resolve => setTimeout(resolve, 20))
      allowed = await get(admin)
    }
    t.match(allowed.headers['x-watchglass'], /^mirror/, 'the mirror has it')
    t.match(allowed.body, /hidden/)
    const warning = Buffer.from(String(allowed.headers['warning']), 'latin1').toString('utf8')
    t.equal(warning, '299 - "veraltet – nimm “v2”, 今すぐ"', 'a warning in any language')
    const denied = await get({ authorization: 'Bearer alice' })
    t.equal(denied.status, 403)
    t.notMatch(denied.body, /secret/)
    const watch = `${path}/hidden/namespaces?watch=1&timeoutSeconds=1&fieldSelector=metadata.name%3Dreadable`
    const watched = await ask(door, version, {
      path: watch,
      headers: { authorization: 'Bearer alice' },
    })
    t.equal(watched.status, 403)
  }
})
