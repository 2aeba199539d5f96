# The README's commands. Each sets up what it needs on a fresh Debian 12 with Rust: system packages by apt, when missing.
.PHONY: demo test bench setup

demo: setup
	cargo run --release --locked -- demo --out demo-result

# Fast and without any system library first; then everything.
test: setup
	cargo fmt --check
	cargo test --release --locked --no-default-features --lib
	cargo clippy --release --locked --all-targets -- -D warnings
	cargo test --release --locked
	RUSTDOCFLAGS="-D warnings" cargo doc --release --locked --no-deps

bench: setup
	cargo bench --locked --bench decode_ratio
	cargo bench --locked --no-default-features --bench rules

setup:
	@bash .ci/setup.sh
