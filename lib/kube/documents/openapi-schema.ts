/** A schema of an OpenAPI document, and what all objects have. */

/** A schema as it is written in the document. */
export type OpenApiSchema = Readonly<Record<string, unknown>>

export type OpenApiVersion = 2 | 3

/** The place of schemas that refer to those of types. */
export interface TypeReferences {
  readonly version: OpenApiVersion
  /** A reference to a type of the wire schema, which is added to the document. */
  typeReference(name: string): OpenApiSchema
}

/** The members by which an object says what it is. */
export const typeMeta: Readonly<Record<string, OpenApiSchema>> = {
  apiVersion: {
    description:
      'APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized schemas to the latest internal value, and may reject unrecognized values. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources',
    type: 'string',
  },
  kind: {
    description:
      'Kind is a string value representing the REST resource this object represents. Servers may infer this from the endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds',
    type: 'string',
  },
}
