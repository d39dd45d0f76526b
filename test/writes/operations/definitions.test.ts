/** Definitions of custom resources: what the server itself writes into them when they are made and
 *  deleted (apiextensions-apiserver: pkg/controller/status, finalizer). */

import t from 'tap'
import { keyFromText } from '../../../lib/base/keys.ts'
import { WriteWorld } from '../../support/kube/writes/write-world.ts'

const name = 'gadgets.example.com'
const key = keyFromText(`/registry/apiextensions.k8s.io/customresourcedefinitions/${name}`)
const definitions = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  resource: 'customresourcedefinitions',
}
const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural: 'gadgets', kind: 'Gadget' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object' } },
      },
    ],
  },
}

t.test('a definition is established at once, and waits for its objects when it goes', async t => {
  const world = new WriteWorld()
  await world.ask('create', definitions, definition)
  const names = {
    plural: 'gadgets',
    singular: 'gadget',
    kind: 'Gadget',
    listKind: 'GadgetList',
  }
  t.match(world.stored(key), {
    metadata: { name, finalizers: undefined },
    status: {
      acceptedNames: names,
      storedVersions: ['v1'],
      conditions: [
        {
          type: 'NamesAccepted',
          status: 'True',
          reason: 'NoConflicts',
          message: 'no conflicts found',
        },
        {
          type: 'Established',
          status: 'True',
          reason: 'InitialNamesAccepted',
          message: 'the initial names have been accepted',
        },
      ],
    },
  })
  await world.ask('delete', { ...definitions, name })
  t.notOk(world.has(key), 'there is no object of it')
})
