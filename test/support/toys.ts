/** A custom resource for tests: toys, which have a color and a size. */

/** The key under which the definition of toys is stored. */
export const toyDefinitionKey =
  '/registry/apiextensions.k8s.io/customresourcedefinitions/toys.example.com'

const names = { plural: 'toys', singular: 'toy', kind: 'Toy', listKind: 'ToyList' }

/** The stored definition of toys that can be selected by `fields` of their spec. The first version
 *  is the stored one. */
export function toyDefinition(
  fields: readonly string[],
  versions: readonly string[] = ['v1'],
): Buffer {
  const properties = { color: { type: 'string' }, size: { type: 'integer' } }
  const schema = {
    openAPIV3Schema: { type: 'object', properties: { spec: { type: 'object', properties } } },
  }
  const definition = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'toys.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names,
      versions: versions.map((name, i) => ({
        name,
        served: true,
        storage: i === 0,
        selectableFields: fields.map(field => ({ jsonPath: `.spec.${field}` })),
        schema,
      })),
    },
    status: {
      acceptedNames: names,
      conditions: ['Established', 'NamesAccepted'].map(type => ({ type, status: 'True' })),
    },
  }
  return Buffer.from(JSON.stringify(definition))
}
