/** Media types that clients accept and send. */

export const json = 'application/json'
export const yaml = 'application/yaml'
export const protobuf = 'application/vnd.kubernetes.protobuf'
export const table = 'application/json;as=Table;v=v1;g=meta.k8s.io'
/** The Accept header of kubectl. */
export const kubectl: string = `${table},application/json;as=Table;v=v1beta1;g=meta.k8s.io,${json}`
export const metadata = 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io'
export const metadataList = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io'

export const mergePatch = 'application/merge-patch+json'
export const strategicPatch = 'application/strategic-merge-patch+json'
export const jsonPatch = 'application/json-patch+json'
export const applyPatch = 'application/apply-patch+yaml'
