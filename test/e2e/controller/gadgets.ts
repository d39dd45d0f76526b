/** A custom resource for controllers: what its spec asks for, its status says once a controller has
 *  been there. */

export const group = 'example.com'
export const version = 'v1'
export const plural = 'gadgets'
export const leaseName = 'gadget-controller'

export interface Gadget {
  readonly apiVersion?: string
  readonly kind?: string
  readonly metadata: {
    readonly name: string
    readonly namespace: string
    readonly resourceVersion: string
    readonly generation: number
  }
  readonly spec: { readonly size: number }
  readonly status?: {
    readonly size?: number
    readonly observedGeneration?: number
    readonly by?: string
  }
}

export const definition: object = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${plural}.${group}` },
  spec: {
    group,
    scope: 'Namespaced',
    names: { plural, singular: 'gadget', kind: 'Gadget', listKind: 'GadgetList' },
    versions: [
      {
        name: version,
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: { type: 'object', properties: { size: { type: 'integer', minimum: 1 } } },
              status: {
                type: 'object',
                properties: {
                  size: { type: 'integer' },
                  observedGeneration: { type: 'integer' },
                  by: { type: 'string' },
                },
              },
            },
          },
        },
      },
    ],
  },
}

/** Its status says what its spec asks for. */
export function isDone({ metadata, spec, status }: Gadget): boolean {
  return status?.size === spec.size && status.observedGeneration === metadata.generation
}

export function keyOf({ metadata }: Gadget): string {
  return `${metadata.namespace}/${metadata.name}`
}
