export { NotFound as default } from "@/features/shell/not-found";
